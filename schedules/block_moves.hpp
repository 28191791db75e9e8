#pragma once

// How passes of a stamped building block get new slots: run early, or moved into idle slots before them.

#include <vector>

#include "schedules/building_block.hpp"

namespace pipeloom::schedules {

/// The slots of all passes, and what each must come after.
class SlotTable {
 public:
  SlotTable(int ranks, int microbatches);

  void set(int rank, const Placed& placed) {
    slots_[index(rank, placed.pass, placed.microbatch)] = placed.slot;
  }
  /// Latest slot of what the pass waits for: the same pass one rank before in its direction, the pass before
  /// it in the block on this rank, and the microbatch before it; -1 if it waits for nothing. A weight pass
  /// waits for the one before it only.
  [[nodiscard]] int latest_needed(int rank, Pass pass, int microbatch) const;

 private:
  [[nodiscard]] std::size_t index(int rank, Pass pass, int microbatch) const;

  int ranks_;
  int microbatches_;
  std::vector<int> slots_;
};

/// (rank, index in its line) of every pass by slot, then rank.
struct LinePosition {
  int rank;
  int index;
};
[[nodiscard]] std::vector<LinePosition> in_time_order(const std::vector<Line>& lines);

/// Every pass as early as its rank's order and what it waits for let it.
[[nodiscard]] std::vector<Line> squeezed(const std::vector<Line>& lines, int microbatches);

/// Where weight passes are: in the lines, or run unseen in the first idle slots, or with their input pass, which
/// then takes two slots.
enum class Weights { InLine, Unseen, Fused };

/// Passes move, in time order, to the earliest idle slot after what they wait for with which no rank holds
/// more live passes than the most that any rank held before. A pass is live from its F to its weight pass.
///
/// Warm-up: before rank 0's first I; it stays with Weights::Unseen. Cool-down: after the last F of rank 0 (or
/// of the first rank whose last F comes after the warm-up). What lies between stays, except with
/// Weights::Fused, where all may move.
[[nodiscard]] std::vector<Line> moved_earlier(const std::vector<Line>& lines, int microbatches,
                                              Weights weights);

}  // namespace pipeloom::schedules
