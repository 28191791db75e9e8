#pragma once

// What a PyTorch 2.15 does with a lowered file, written down a second time and plainly: each check of its loader, then a run in which
// ranks issue their rows and of two ranks the n-th send meets the n-th receive. Tests hold `validate` against it.

#include <string>

#include "sim/actions.hpp"

namespace pipeloom::tests {

struct TorchRun {
  enum class End { Right, Refused, Raises, Hangs, Wrong };
  End end = End::Right;  ///< where receives are posted and only their users wait (gloo)
  bool keeps_order_hangs =
      false;                    ///< where a receive keeps its rank waiting (NCCL); of a run that ends right
  bool sharded_raises = false;  ///< with FSDP; of a run that ends right
  bool has_stray = false;       ///< a message at an end of the pipeline, or within a rank
  std::string why;
};

[[nodiscard]] TorchRun run_as_torch(const ActionLists& lists, int ranks, int stages, int microbatches);

}  // namespace pipeloom::tests
