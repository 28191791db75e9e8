#pragma once

// Keys and values of one stage for one microbatch, which its slices share: those of slice j are read by slices j, j + 1, ... on their way
// forward and back (executor/layers/attention.hpp).

#include <cstddef>
#include <vector>

#include "executor/layers/attention.hpp"

namespace pipeloom::executor {

/// [block][slice]; empty without attention.
using StageKeys = std::vector<std::vector<SliceKeys>>;

/// Where a pass finds the keys of the slices before it, and leaves its own.
struct Attended {
  StageKeys* keys = nullptr;  ///< null without attention
  int slice = 0;              ///< of the pass
};

/// Whether the slice before has gone forward.
[[nodiscard]] bool may_go_forward(const StageKeys& keys, int slice);
/// Whether the slice behind has gone backward, and has added its gradients.
[[nodiscard]] bool may_go_backward(const StageKeys& keys, int slice);

/// Of the tensors of slices 0 .. `slice`, all blocks.
[[nodiscard]] std::size_t bytes_up_to(const StageKeys& keys, int slice);
/// Frees all tensors: no slice will attend to them, or they will be made again.
void discard_all(StageKeys& keys);

}  // namespace pipeloom::executor
