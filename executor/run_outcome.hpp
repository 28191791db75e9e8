#pragma once

// From what each rank wrote down to what a run returns.

#include <optional>
#include <vector>

#include "executor/run_plan.hpp"
#include "executor/run_state.hpp"

namespace pipeloom::executor {

/// The result of a run without failure. `records` are of all ranks, [rank], on one clock.
[[nodiscard]] RunResult result_of(const RunPlan& plan, std::vector<RankRecord> records);

/// What is known of a run that failed: every op that ended, warm-up steps included. `records` may lack ranks.
[[nodiscard]] RunFailed failure_of(const RunPlan& plan, const std::vector<RankRecord>& records,
                                   const Failure& failure);

/// Puts times of another process's clock on this one's: its `offset` is added to all that are set.
void shift(RankRecord& record, Ticks offset);

}  // namespace pipeloom::executor
