#pragma once

// One microbatch's building block, stamped again and again, and its ends reworked.
//
// Source: Qi et al., "Pipeline Parallelism with Controllable Memory" (2024, arXiv 2405.15362), section 3; the
// moves of warm-up and cool-down are those of the authors' program (zero-bubble-pipeline-parallelism,
// zbv_greedy and v1f1b). Two chunks per rank on a V: chunk 0 of rank r is stage r, chunk 1 is stage 2p - 1 - r.
//
// Every pass takes one slot while the order is made, whatever it costs in the run: the order depends on p and
// m only.

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/orders/order.hpp"

namespace pipeloom::orders {

/// True if a backward is an input pass of one slot with its weight pass anywhere later, or whole: B, two slots.
enum class BlockBackward : std::uint8_t { Split, Whole };

/// Slots of F, f, i, I of microbatch 0 by rank; microbatch k comes 6 k later. Capital letters are chunk 0, small ones chunk 1.
struct BuildingBlock {
  /// REQUIRES: what a rank's four passes take differs modulo 6, and each comes after what it waits for.
  std::vector<std::array<int, 4>> slots;
  BlockBackward backward = BlockBackward::Split;
};

/// Slots between two stamps: F f i I w W, or F f b b B B.
inline constexpr int kBlockPeriod = 6;

/// The letters of each rank in order for this block and m microbatches; of a whole backward I alone. Split:
///
///   1. stamp the block m times; weight passes take a rank's first idle slots, first in first out
///   2. passes of the warm-up (before rank 0's first I) and of the cool-down (after the last F of rank 0)
///      move to the earliest idle slot after what they wait for that keeps the largest number of live passes
///      of any rank; then everything runs as early as its order lets it
///   3. without the weight passes, the cool-down moves once more and runs as early as it can
///   4. weight passes fill the idle slots again, those of chunk 1 first
///
/// Whole: the stamped passes move as in 2, all of them.
///
/// Steps: one per op, and O(p^3) (p^2 passes to move, each past up to O(p) others).
///
/// `pause` is called between the steps, and may throw.
[[nodiscard]] std::vector<std::vector<Letter>> block_words(
    const BuildingBlock& block, int microbatches, const std::function<void()>& pause = [] {});

}  // namespace pipeloom::orders
