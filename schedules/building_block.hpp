#pragma once

// Schedules made of one microbatch's building block, stamped again and again: V-Half, V-Min, V-ZB, 1F1B-V.
//
// Source: Qi et al., "Pipeline Parallelism with Controllable Memory" (2024, arXiv 2405.15362), section 3; the
// moves of warm-up and cool-down are those of the authors' program (zero-bubble-pipeline-parallelism,
// zbv_greedy and v1f1b). Two chunks per rank on a V: chunk 0 of rank r is stage r, chunk 1 is stage 2p - 1 - r.
//
// Every pass takes one slot while the order is made, whatever it costs in the run: the order depends on p and
// m only.

#include <array>
#include <vector>

#include <pipeloom/schedule.hpp>

namespace pipeloom::schedules {

/// The passes of a block, in the order in which a microbatch meets them. Capital letters of the pictures are
/// chunk 0, small ones chunk 1.
enum class Pass : unsigned char {
  Forward0,  ///< F of chunk 0, goes up the ranks
  Forward1,  ///< f of chunk 1, comes back down
  Input1,    ///< i of chunk 1, goes up
  Input0,    ///< I of chunk 0, comes back down
  Weight1,   ///< w of chunk 1; before the chunks are told apart, every weight pass
  Weight0,   ///< W of chunk 0
};

/// One pass in one slot of a rank's time.
struct Placed {
  int slot;
  int microbatch;
  Pass pass;
};
/// A rank's passes by rising slot.
using Line = std::vector<Placed>;

/// Whether a backward is an input pass of one slot with its weight pass anywhere later, or whole: B, two slots.
enum class BlockBackward { Split, Whole };

/// Slots of F, f, i, I of microbatch 0 by rank; microbatch k comes 6 k later.
struct BuildingBlock {
  /// REQUIRES: what a rank's four passes take differs modulo 6, and each comes after what it waits for.
  std::vector<std::array<int, 4>> slots;
  BlockBackward backward = BlockBackward::Split;
};

/// Slots between two stamps: F f i I w W, or F f b b B B.
inline constexpr int kBlockPeriod = 6;

/// The schedule for this block and m microbatches. Split:
///
///   1. stamp the block m times; weight passes take a rank's first idle slots, first in first out
///   2. passes of the warm-up (before rank 0's first I) and of the cool-down (after the last F of rank 0)
///      move to the earliest idle slot after what they wait for that keeps the largest number of live passes
///      of any rank (block_moves.hpp); then everything runs as early as its order lets it
///   3. without the weight passes, the cool-down moves once more and runs as early as it can
///   4. weight passes fill the idle slots again, those of chunk 1 first
///
/// Whole: the stamped passes move as in 2, all of them.
///
/// Above about 4 p microbatches the middle of the order repeats; then it is made for so many only and the
/// middle is drawn out. Steps: one per op, and O(p^3) (p^2 passes to move, each past up to O(p) others).
[[nodiscard]] Schedule emit_block(const BuildingBlock& block, int microbatches);

/// The passes of each rank in order, the k-th of a kind being microbatch k's; the middle is never drawn out.
/// A whole backward is its input pass alone.
[[nodiscard]] std::vector<std::vector<Pass>> block_orders(const BuildingBlock& block, int microbatches);

// How passes of a stamped building block get new slots: run early, or moved into idle slots before them.

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
