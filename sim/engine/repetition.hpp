#pragma once

// Where the queues of a schedule repeat a block of ops, and from which block on its run repeats too.
//
// Of two sizes of one schedule the longer one has in every queue one block more. The prefix up to a cut, a position in each queue, waits for
// nothing after it. What comes after a cut depends on its state alone: when each rank is free, and when the tensors under way were made. If the states at two
// cuts are equal but for a time by which everything is later, the blocks between them take the same times again, however often they come:
// the run is a max-plus linear system (Baccelli, Cohen, Olsder, Quadrat, Synchronization and Linearity, 1992).

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <pipeloom/schedule.hpp>
#include <pipeloom/units.hpp>

namespace pipeloom {

/// Blocks of a run of which all times are the same but for a delay.
struct Repetition {
  std::size_t first = 0;   ///< the cut at which it begins
  std::size_t blocks = 0;  ///< from one equal state to the next, >= 1
  Ticks delay = 0;         ///< the time that they take
  friend bool operator==(const Repetition&, const Repetition&) = default;
};

/// The cuts of a schedule, and what is under way at each.
class RepeatingQueues {
 public:
  /// The cuts of `shorter`; nullopt if `longer` is not the same schedule with one block more in every queue, or if `shorter` holds no
  /// whole block between two cuts. REQUIRES: no structural errors; the same placement; fewer than 2^32 - 1 ops. O(ops).
  [[nodiscard]] static std::optional<RepeatingQueues> find(const Schedule& shorter, const Schedule& longer);

  /// Microbatches of a block.
  [[nodiscard]] int period() const { return period_; }
  /// Blocks between the first cut and the last: cuts are numbered 0 .. blocks(). The shorter schedule with n periods more has n more.
  [[nodiscard]] std::size_t blocks() const { return blocks_; }
  /// Op index, counted from the beginning of the rank's queue, of the first op after the cut.
  [[nodiscard]] std::size_t cut(Rank rank, std::size_t number) const {
    return cuts_[rank.at()] + number * block_ops_[rank.at()];
  }
  /// Ops of a block in the rank's queue.
  [[nodiscard]] std::size_t block_ops(Rank rank) const { return block_ops_[rank.at()]; }

  /// The first blocks after which the state comes again; nullopt if it does not within this run, or not within `most` blocks. `schedule`: the
  /// shorter one, or one with whole periods more. `end`: when each of its ops ends, by op index, under durations and delays that do not depend on the
  /// microbatch. O(blocks * most * ranks).
  [[nodiscard]] std::optional<Repetition> repetition(const Schedule& schedule, std::span<const Ticks> end,
                                                     std::size_t most) const;
  /// Ticks by which everything under way at cut `to` is later than at cut `from`; nullopt if they differ. Arguments as repetition() takes them.
  [[nodiscard]] std::optional<Ticks> delay(std::size_t from, std::size_t to, const Schedule& schedule,
                                           std::span<const Ticks> end) const;

 private:
  /// An op before the first cut that an op after it waits for, or the last one of a rank's lane.
  struct Carried {
    Rank rank;
    std::size_t place;  // in the rank's queue of the shorter schedule
    friend bool operator==(const Carried&, const Carried&) = default;
  };
  class Finder;

  int period_ = 0;
  std::size_t blocks_ = 0;
  std::vector<std::size_t> cuts_;       // [rank]
  std::vector<std::size_t> block_ops_;  // [rank]
  std::vector<Carried> carried_;
};

}  // namespace pipeloom
