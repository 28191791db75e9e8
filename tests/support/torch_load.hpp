#pragma once

// The loader of tests/support/torch_run.hpp.

#include <map>
#include <string>
#include <utility>

#include "sim/actions.hpp"
#include "support/torch_run.hpp"

namespace pipeloom::tests {

/// Stage and microbatch; -1 for actions without one.
using TorchKey = std::pair<int, int>;

[[nodiscard]] int stage_of(Action action);
[[nodiscard]] TorchKey key_of(Action action);

/// What is thrown by the loader and the run; `end` says how it counts.
struct TorchStop {
  TorchRun::End end;
  std::string why;
};

/// The rank of every stage, by stage. Throws TorchStop for lists that PyTorch does not load.
[[nodiscard]] std::map<int, int> load_as_torch(const ActionLists& lists, int ranks, int stages,
                                               int microbatches);

}  // namespace pipeloom::tests
