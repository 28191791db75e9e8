#pragma once

// Building blocks of V orders: where the four passes of a microbatch lie on each rank, stamped again for the next microbatch, and the next.
//
// Source: Qi et al., "Pipeline Parallelism with Controllable Memory" (2024, arXiv 2405.15362): what a rank holds follows from how
// many slots F and i take from rank to rank on their way up, f and I on their way down; and the adaptive scheduler of its authors'
// program (zero-bubble-pipeline-parallelism), which goes through the same blocks. Small letters are a rank's second chunk.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sim/orders/blocks/block_words.hpp"

namespace pipeloom::orders {

/// A block by what it is made of: F of microbatch 0 is in slot 0 of rank 0.
struct Block {
  /// Slots of f, i and I on rank 0 modulo 6, each of 1 .. 5, different.
  std::array<int, 3> on_rank_0 = {};
  /// Slots from rank r - 1 to rank r for F and i: `lower` to ranks 1 .. turn, `upper` to the ranks above; f and I take one slot down.
  int lower = 1;
  int upper = 1;
  int turn = 1;

  friend bool operator==(const Block&, const Block&) = default;
};

/// Every block in which no two passes of a rank meet, once: O(p) of them.
[[nodiscard]] std::vector<Block> blocks(std::size_t ranks);

/// Its slots: every pass in the first slot of its place modulo 6 after what it waits for.
[[nodiscard]] BuildingBlock slots_of(const Block& block, std::size_t ranks);

/// "f3 i4 I1, 2 slots a rank up to rank 5, then 1".
[[nodiscard]] std::string text_of(const Block& block, std::size_t ranks);

/// True if stage s and stage 2p - 1 - s are on one rank, and no others.
[[nodiscard]] bool is_v(const Problem& problem);

/// True if all limits hold for the block stamped every `period` slots, each W right after its I, when all ranks are in the middle of it. O(p).
/// REQUIRES: is_v(problem).
[[nodiscard]] bool fits(const Problem& problem, const Block& block, int period);

/// How often a block is stamped, and whether its ends are reworked (block_words).
struct Stamping {
  int period = kBlockPeriod;
  bool moves_ends = false;  ///< only with kBlockPeriod

  friend bool operator==(const Stamping&, const Stamping&) = default;
};

/// The block stamped for the problem's microbatches. Where ends stay, each W is right after its I. Nothing where that breaks a limit. REQUIRES: is_v(problem).
[[nodiscard]] std::optional<Order> stamped(const Problem& problem, const Block& block, const Stamping& how);

}  // namespace pipeloom::orders
