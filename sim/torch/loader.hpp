#pragma once

// The part of verdict_of() before a file of computations is lowered.

#include "sim/torch/verdict.hpp"

namespace pipeloom::torch {

/// PyTorch's checks of the rows as its parser takes them, up to and with those of their form; 2.15's of waits and groups too. O(actions).
[[nodiscard]] Verdict load(const ActionLists& lists, const LoadingRun& run);

}  // namespace pipeloom::torch
