#pragma once

// Makes the result of a run from the records of its ranks.

#include <functional>
#include <vector>

#include "executor/run/run_plan.hpp"
#include "executor/run/run_state.hpp"

namespace pipeloom::executor {

/// Gives `into` the times and messages of `from`, which loses them: kept once for each rank, they would be ranks times the whole run.
void move_times(RankRecord& from, RankRecord& into);

/// The result of a run without failure. `records` are of all ranks, [rank], on one clock.
[[nodiscard]] RunResult result_of(const RunPlan& plan, std::vector<RankRecord> records);

/// The account of a run that failed: every op that ended, warm-up steps included. `records` may lack ranks.
[[nodiscard]] RunFailed failure_of(const RunPlan& plan, const std::vector<RankRecord>& records,
                                   const Failure& failure);

/// Puts all times of a record on another clock.
void change_clock(RankRecord& record, const std::function<Ticks(Ticks)>& changed);

}  // namespace pipeloom::executor
