#pragma once

// What PyTorch's hand-written step loops issue: GPipe and 1F1B are not lowered, each has a loop of its own.

#include <cstddef>
#include <utility>
#include <vector>

#include "sim/actions.hpp"

namespace pipeloom::torch {

/// The actions in the order in which the loop issues them, and the batches of messages that it issues together.
struct StepLoop {
  ActionLists lists;
  /// [rank][i]: actions [first, second) of the rank's row are one batch.
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> batches;
};

/// GPipe: each forward behind its receive and before its send, then the backwards likewise.
/// REQUIRES: ranks, microbatches >= 1.
[[nodiscard]] StepLoop gpipe_loop(int ranks, int microbatches);

/// 1F1B. Rank r runs w = min(m, p - r) forwards first. The last of their sends is one waited batch with the first receive of a
/// gradient; from there on every send of a gradient is one batch with the next receive of an activation, every send of an
/// activation with the next receive of a gradient, so a rank also waits for its sends.
/// REQUIRES: microbatches >= ranks >= 1.
[[nodiscard]] StepLoop one_f_one_b_loop(int ranks, int microbatches);

}  // namespace pipeloom::torch
