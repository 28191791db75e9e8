#pragma once

// Times and peaks of orders whose ranks run entries: ops alone or in overlapped pairs, copies to the host and back beside them, R in front. Exact, as the engine
// has it (docs/model.md, sections 2 and 6).

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/orders/order.hpp"
#include "sim/orders/search/mover.hpp"
#include "sim/orders/search/rows.hpp"

namespace pipeloom::orders {

inline constexpr Letter kAlone = 0xFF;

/// The next entry of a rank: an op, or an F and an I with its W as one overlapped pair.
struct Entry {
  Letter first = 0;       ///< the op, or the F of a pair
  Letter input = kAlone;  ///< the I of a pair

  [[nodiscard]] bool is_pair() const { return input != kAlone; }
  friend bool operator==(const Entry&, const Entry&) = default;
};

using Entries = std::vector<std::vector<Entry>>;  ///< [rank]

/// The entries of an order, and back.
[[nodiscard]] Entries entries_of(const Order& order);
[[nodiscard]] Order order_of(const Entries& entries);

struct EntryRun {
  Ticks value = kMaxTicks;  ///< as value_of(); kMaxTicks where there is no order
  double mean = 0;          ///< over ranks of what `value` is the largest of
  double busy = 0;          ///< mean over ranks of what their entries take together
  /// The largest share by which a rank is over its limit at some time; 0 where all keep theirs.
  double over_limit = 0;

  /// The value that a search makes small, where it may be over a limit on its way.
  [[nodiscard]] double energy() const;
};

/// True if there is an order, and one that fits.
enum class Standing : std::uint8_t { Fits, Over, None };

[[nodiscard]] Standing standing_of(const EntryRun& run);
/// Results that fit come first.
[[nodiscard]] bool is_better(const EntryRun& a, const EntryRun& b);

/// Times entries of one problem; keeps its memory between plays. REQUIRES: a problem whose backwards are cut, and that has no pairs where forwards run
/// again.
class EntryTimes {
 public:
  /// `problem` must outlive it.
  explicit EntryTimes(const Problem& problem);

  /// Their result where reloads are issued that number of entries ahead; nothing where they hang. O(ops).
  [[nodiscard]] std::optional<EntryRun> play(const Entries& entries, std::int32_t prefetch);

  [[nodiscard]] std::size_t length(std::size_t rank) const { return times_[rank].size(); }
  /// One longest chain of entries of the last play, as Retimer::critical_chain. Where a reload came late, the entry that it was issued after is on the chain.
  template <class Choose>
  void critical_chain(std::vector<Place>& out, const Choose& choose) const;

 private:
  static constexpr std::size_t kNowhere = ~std::size_t{0};
  /// A Place in half the bytes; there is none where `rank` is kNoRow.
  struct Cause {
    std::uint32_t rank = kNoRow;
    std::uint32_t at = 0;
  };
  /// A row, and what else plays ask of its ops.
  struct Part : Row {
    std::size_t first = 0;       // its op of microbatch 0, row * m
    std::size_t first_pass = 0;  // stage * m
    Ticks again = 0;             // of an I: the R in front of it
    Pass pass = kForward;
    bool is_copied = false;  // F or I of a stage whose activations go to the host
  };
  struct Done {
    Ticks end = 0;
    Cause entry;
  };
  /// A reload, and the place in its rank's queue before which it is issued. There an R and its I have a place each.
  struct Load {
    std::size_t place = 0;
    std::size_t stage = 0;
    std::size_t pass = 0;  // stage * m + k
  };
  /// Bytes that a rank takes, or gives back, at a time.
  struct Change {
    Ticks time = 0;
    Bytes bytes = 0;
  };
  struct RankState {
    std::size_t at = 0;        // place in the word
    std::size_t in_queue = 0;  // and in the queue
    std::size_t load = 0;      // of `loads`, the next
    std::size_t waits_for =
        kNowhere;      // row of the op that is next, where the rank has stopped until what that needs has run
    Ticks again = 0;   // start of the R in front of the I that is next
    Ticks clock = 0;   // end of the last entry
    Ticks stream = 0;  // end of the last copy
    Ticks busy = 0;    // what its entries took
    std::vector<Load> loads;
    std::vector<Change> changes;         // by ops, in order of time
    std::vector<Change> stream_changes;  // by copies, likewise
  };
  struct Times {
    Ticks start = 0;
    Ticks end = 0;
    Cause cause;  // an entry of another rank, or one that a late reload was issued after, that it waited for
  };
  struct Arrival {
    Ticks time = 0;
    Cause cause;
  };

  void restart(std::int32_t prefetch);
  void plan(std::size_t rank, std::int32_t prefetch);
  void plan_pass(std::size_t row, std::size_t in_queue, std::int32_t prefetch);
  bool step(std::size_t rank);
  bool wait_for(std::size_t row, Arrival& arrival);
  void finish(std::size_t row, const Times& times);
  void wake(std::size_t row);
  void issue_loads(RankState& state, std::size_t in_queue, Ticks clock);
  [[nodiscard]] double over_limit(std::size_t rank) const;
  [[nodiscard]] std::size_t row_at(std::size_t rank, Letter letter) const {
    return row_at_[rank * letters_ + letter];
  }
  /// Places in the queue of an entry whose first op is of this row.
  [[nodiscard]] std::size_t places_of(std::size_t row) const { return parts_[row].again > 0 ? 2 : 1; }

  const Problem& problem_;
  const Entries* entries_ = nullptr;
  std::vector<Part> parts_;            // [row]
  std::size_t letters_ = 0;            // most of a rank
  std::vector<std::uint32_t> row_at_;  // [rank * letters_ + letter]
  std::vector<RankState> ranks_;
  std::vector<std::vector<Times>> times_;  // [rank][place]
  std::vector<std::size_t> count_;         // [row]: ops that ran
  std::vector<Done> done_;                 // [row * m + k]
  std::vector<std::uint8_t> is_copied_;    // [pass]
  std::vector<std::size_t> forward_at_;    // [pass]: place of its F in the queue
  std::vector<Ticks> loaded_;              // [pass]: end of its reload
  std::vector<Cause> loaded_after_;        // [pass]: the entry that its reload was issued after
  std::vector<std::size_t> ready_;
  Ticks value_ = 0;
};

template <class Choose>
void EntryTimes::critical_chain(std::vector<Place>& out, const Choose& choose) const {
  out.clear();
  Place place;
  bool goes_on = true;
  for (std::size_t rank = 0; rank < times_.size(); ++rank)
    if (times_[rank].back().end - problem_.origin[rank] == value_) place = {rank, times_[rank].size() - 1};
  while (goes_on) {
    out.push_back(place);
    const Times& times = times_[place.rank][place.at];
    const bool by_rank = place.at > 0 && times_[place.rank][place.at - 1].end == times.start;
    const bool by_cause = times.cause.rank != kNoRow;
    goes_on = by_rank || by_cause;
    if (by_rank && (!by_cause || choose() % 2 == 0))
      --place.at;
    else
      place = {times.cause.rank, times.cause.at};
  }
}

/// The result of the order with its pairs and copies.
[[nodiscard]] std::optional<EntryRun> run_entries(const Problem& problem, const Order& order,
                                                  std::int32_t prefetch);

}  // namespace pipeloom::orders
