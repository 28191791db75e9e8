#pragma once

// Orders made by playing a given one forward in time, where a rank may take an op out of turn while the one whose turn it is has to wait.

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "sim/orders/search/chain.hpp"
#include "sim/orders/search/rows.hpp"

namespace pipeloom::orders {

/// How far a play may depart from the order that it follows.
struct Freedom {
  std::vector<std::int32_t> reach;  ///< [rank]: ops of the rest of its word that it chooses from; 1: as given
  std::vector<std::int32_t> bias;   ///< [row]: places that its ops seem further away; below 0: nearer
  std::int32_t patience =
      0;  ///< in percent of an op: a rank would rather be idle so long than take it out of turn
  /// W run where their rank waits or needs the room, in the order of their I, wherever they are in the order that is followed.
  bool free_weights = false;
  std::int32_t weight_patience = 100;  ///< the same of a W, for the op whose turn it is; with free_weights
  /// [3 * stage + pass, times m, + microbatch]: until when an op may be late without harm (Follower::latest_starts); empty: not at all.
  std::vector<Ticks> latest = {};
  Ticks from = 0;           ///< departures only at times from here
  Ticks until = kMaxTicks;  ///< to here, not included
};

/// Plays orders of one problem; keeps its memory between plays.
///
/// No play hangs or breaks a limit, as the order that it follows does neither: an op out of turn is one that can start at once and leaves
/// room for all that it passes.
class Follower {
 public:
  /// `problem` must outlive it.
  explicit Follower(const Problem& problem);

  /// The value of the new order, which is then in words(). O(ops (reach + log ranks)). REQUIRES: the order keeps the limits and does
  /// not hang.
  [[nodiscard]] Ticks play(const Order& order, const Freedom& freedom);
  [[nodiscard]] const Order& words() const { return out_; }
  [[nodiscard]] Ticks value() const { return value_; }
  /// Mean over ranks of (last end - origin).
  [[nodiscard]] double mean_lateness() const { return mean_; }
  /// When each op must start at the latest for the value to stay what it is, if every rank runs its ops in the same order.
  [[nodiscard]] std::vector<Ticks> latest_starts() const;
  /// Mean time from one microbatch's I on the first stage to the next one's, in the middle third; 0 with fewer than two.
  [[nodiscard]] double pace() const;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::int32_t kFar = std::numeric_limits<std::int32_t>::max();
  struct RankState {
    Ticks free = 0;
    Bytes held = 0;
    std::uint32_t first = 0;  // place of the first op that has not started
    // With free weights: what they give back, all that could run; their letters, as their I ran; how many of them have run.
    Bytes pending = 0;
    std::vector<Letter> weights = {};
    std::size_t weights_run = 0;

    [[nodiscard]] bool has_weight() const { return weights_run < weights.size(); }
  };
  /// An op that a rank could take next: the first of its row that has not started.
  struct Candidate {
    std::uint32_t place = kNone;
    std::uint32_t before = kNone;  // place of the op before it among those that have not started
    std::int32_t away = 0;         // places from the first, with the bias
    Ticks arrival = 0;
    Ticks due = 0;  // when others should be out of its way
  };
  using Event = std::pair<Ticks, std::uint32_t>;
  /// A letter of a rank's words.
  struct Step {
    std::uint32_t row = 0;
    Bytes takes = 0;  ///< at most, from its start to after its end
    std::array<Bytes, 2> after = {
        0, 0};  ///< taken when it has ended; with free weights, when the W of an I has ended
  };

  void restart(const Order& order);
  [[nodiscard]] const Step& step_of(std::size_t rank, Letter letter) const {
    return steps_[rank * seen_.size() + letter];
  }
  [[nodiscard]] Ticks arrival(std::size_t row) const;
  void decide(std::size_t rank, Ticks now);
  void collect(std::size_t rank, Ticks time, std::int32_t reach);
  [[nodiscard]] std::optional<Candidate> choice(std::size_t rank, Ticks now) const;
  [[nodiscard]] bool has_room(std::size_t rank, const Candidate& op) const;
  [[nodiscard]] bool waits_for_turn(std::size_t rank, Ticks now) const;
  void start(std::size_t rank, const Candidate& op, Ticks now);
  void start_weight(std::size_t rank, Ticks now);
  void run(std::size_t rank, Letter letter, Ticks now);

  const Problem& problem_;
  const Freedom* freedom_ = nullptr;
  std::vector<Row> rows_;
  std::vector<Step> steps_;             // [rank * letters + letter]
  std::vector<std::uint32_t> started_;  // [row]
  std::vector<RankState> ranks_;
  std::vector<std::vector<Letter>> words_;        // what is followed
  std::vector<std::vector<std::uint32_t>> next_;  // [rank][place]: the next that has not started
  std::vector<Ticks> end_;                        // [op]
  std::vector<std::uint32_t> sequence_;           // ops as they started
  std::vector<Candidate> candidates_;
  std::vector<std::uint32_t> seen_;  // [letter]: in which collection it was last met
  std::uint32_t collections_ = 0;
  std::int32_t least_bias_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Order out_;
  Ticks value_ = 0;
  double mean_ = 0;
};

/// Follows its latest order with ever other freedoms; `heat` as for annealing. Gives the best order met. REQUIRES: as play.
[[nodiscard]] Best follow(const Problem& problem, const Order& from, double heat, Chain& chain);

}  // namespace pipeloom::orders
