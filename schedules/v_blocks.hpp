#pragma once

// The building blocks of V schedules that repeat every six slots with no two passes of a rank in one slot.
//
// Source: Qi et al., "Pipeline Parallelism with Controllable Memory" (2024, arXiv 2405.15362): what a rank holds follows from how
// many slots F and i take from rank to rank on their way up, f and I on their way down; and the adaptive scheduler of its authors'
// program (zero-bubble-pipeline-parallelism), which goes through the same blocks.

#include <array>
#include <string>
#include <vector>

#include "schedules/building_block.hpp"

namespace pipeloom::schedules {

/// A block by what it is made of: F of microbatch 0 stands in slot 0 of rank 0.
struct VBlock {
  /// Slots of f, i and I on rank 0 modulo 6, each of 1 .. 5, different.
  std::array<int, 3> on_rank_0 = {};
  /// Slots from rank r - 1 to rank r for F and i: lower[0] for ranks 1 .. turn, lower[1] for the ranks above; f and I take one slot down.
  int lower = 1;
  int upper = 1;
  int turn = 1;
};

/// Every block in which no two passes of a rank meet, once: O(p) of them.
[[nodiscard]] std::vector<VBlock> v_blocks(int ranks);

/// Its slots: every pass in the first slot of its place modulo 6 after what it waits for.
[[nodiscard]] BuildingBlock slots_of(const VBlock& block, int ranks);

/// "f3 i4 I1, 2 slots up to rank 5, then 1".
[[nodiscard]] std::string text_of(const VBlock& block, int ranks);

}  // namespace pipeloom::schedules
