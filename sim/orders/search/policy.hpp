#pragma once

// Orders made by playing forward in time under a policy: a few numbers per stage and rank that say which of the ready ops a free rank takes.

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "sim/orders/order.hpp"

namespace pipeloom::orders {

struct StagePolicy {
  std::int32_t target =
      1;  ///< F comes before I while fewer microbatches than this are between F and I on the stage
  std::int32_t cap = 1;  ///< no F while this many are

  friend bool operator==(const StagePolicy&, const StagePolicy&) = default;
};
/// In percent of a duration: a rank would rather be idle so long than do something else first.
struct RankPolicy {
  std::int32_t patience = 60;  ///< of its W, for an F or I whose arrival is known, before it takes a W
  std::int32_t yield = 0;      ///< of its F, for an I whose arrival is known, before it takes an F
  bool shallow_inputs =
      false;  ///< of several I those of the rank's first chunk come first, not those of its last
  std::int32_t partner =
      60;  ///< of an F or I that could start alone, for what it would make an overlapped pair with

  friend bool operator==(const RankPolicy&, const RankPolicy&) = default;
};

struct Policy {
  std::vector<StagePolicy> stages;  ///< [stage]
  std::vector<RankPolicy> ranks;    ///< [rank]

  friend bool operator==(const Policy&, const Policy&) = default;
};

/// Plays policies for one problem; keeps its memory between plays. Where pairs are shorter (Problem::pairs), ready F and I run as one.
///
/// No order hangs: an F of a chunk is taken only while the oldest microbatch that has forwards before it can still go through all chunks
/// of the rank, so that what is on its way always gets to its end (see keeps_room in policy.cpp).
class Player {
 public:
  /// `problem` must outlive it.
  explicit Player(const Problem& problem);

  /// The value of the policy's order (value_of); nothing where a limit does not hold one microbatch, and where `goes_on`, which is asked every million ops
  /// or so, says no. The order is in words(). O(ops log ranks).
  [[nodiscard]] std::optional<Ticks> play(const Policy& policy, const std::function<bool()>& goes_on = {});
  [[nodiscard]] const Order& words() const { return order_; }
  /// Mean over ranks of what value_of takes the largest of, for comparing orders of one value.
  [[nodiscard]] double mean_lateness() const { return mean_; }

 private:
  struct Event {
    Ticks time = 0;
    std::uint32_t rank = 0;
    friend auto operator<=>(const Event&, const Event&) = default;
  };
  struct Counts {
    std::int32_t forwards = 0;
    std::int32_t inputs = 0;
    std::int32_t weights = 0;
    Ticks next_forward = 0;  // arrival of the next F, I; kMaxTicks where it is not known
    Ticks next_input = 0;
  };
  struct RankState {
    Ticks free = 0;
    Bytes held = 0;
    std::int32_t left = 0;  // ops that have not started
  };
  static constexpr std::size_t kNoChunk = ~std::size_t{0};

  void restart();
  void decide(std::size_t rank, Ticks now);
  [[nodiscard]] bool may_forward(std::size_t rank, std::size_t chunk) const;
  [[nodiscard]] bool may_input(std::size_t rank, std::size_t chunk) const;
  bool decide_pair(std::size_t rank, Ticks now);
  void start_pair(std::size_t rank, std::size_t forward_chunk, std::size_t input_chunk, Ticks now);
  [[nodiscard]] bool has_blocked_input(std::size_t rank, Ticks now) const;
  [[nodiscard]] bool keeps_room(std::size_t rank, std::size_t chunk) const;
  [[nodiscard]] std::size_t ready_input(std::size_t rank, Ticks now) const;
  [[nodiscard]] std::size_t ready_forward(std::size_t rank, Ticks now, bool below_target) const;
  [[nodiscard]] std::size_t pending_weight(std::size_t rank) const;
  [[nodiscard]] Ticks next_arrival(std::size_t rank, bool inputs_only) const;
  [[nodiscard]] bool blocked_by_memory(std::size_t rank, Ticks now) const;
  void start(std::size_t rank, std::size_t chunk, Pass pass, Ticks now);
  void learn_after_forward(std::size_t stage);
  void learn_after_input(std::size_t stage);
  void learn_forward(std::size_t stage);
  void learn_input(std::size_t stage);

  const Problem& problem_;
  const Policy* policy_ = nullptr;
  std::vector<Bytes>
      limits_;  // [rank]: of forwards, which leave room for what any I takes more than it gives back
  std::vector<Counts> counts_;  // [stage]
  std::vector<RankState> ranks_;
  std::vector<Ticks> forward_end_;  // [stage * m + k]
  std::vector<Ticks> input_end_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Order order_;
  double mean_ = 0;
};

}  // namespace pipeloom::orders
