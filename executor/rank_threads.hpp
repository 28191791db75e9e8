#pragma once

// The threads of the ranks that one process runs.

#include <memory>
#include <vector>

#include "executor/run_state.hpp"

namespace pipeloom::executor {

/// Runs all steps of these ranks, a thread each; returns when they have ended, or soon after a failure: then a rank that does not
/// return from its op is left behind with its share of `state`.
void run_threads(const std::shared_ptr<RunState>& state, const std::vector<Rank>& ranks);

}  // namespace pipeloom::executor
