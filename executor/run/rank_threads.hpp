#pragma once

// The threads of the ranks that one process runs.

#include <functional>
#include <memory>
#include <vector>

#include "executor/run/run_state.hpp"

namespace pipeloom::executor {

/// All steps of one rank. Throws Stopped if the run is stopped; what else it throws ends the run.
using RankLife = std::function<void(RunState&, Rank)>;
/// Does `work`; what it throws, but for Stopped, ends the run at once: before anything that `work` uses is waited for.
void run_or_fail(RunState& state, Rank rank, const std::function<void()>& work);
/// On this thread and its companions: RankRunner.
void run_rank(RunState& state, Rank rank);

/// Runs all steps of these ranks, a thread each; returns when they have ended, or soon after a failure: then a rank that does not
/// return from its op is left behind with its share of `state`.
void run_threads(const std::shared_ptr<RunState>& state, const std::vector<Rank>& ranks,
                 const RankLife& life = run_rank);

}  // namespace pipeloom::executor
