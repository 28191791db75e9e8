#pragma once

// The best bound that is known for a run's schedule.

#include <functional>

#include <pipeloom/costs.hpp>
#include <pipeloom/metrics.hpp>
#include <pipeloom/schedule.hpp>

namespace pipeloom::study {

/// pipeloom::lower_bound(), or under `barrier` the best of sim/orders/bounds where that is larger and its words can say this schedule: F
/// and B, or F, I and W, of microbatches that are all alike, one after another on one copy of the model.
///
/// The orders that it is about keep MemoryModel::limit less static bytes with their activations, where this schedule does; else all orders.
/// `makespan`: that of this schedule under `latency`. REQUIRES: no structural errors. O(ops log ops).
/// `stopped`: as orders::best_bound() has it.
[[nodiscard]] LowerBound run_bound(const Schedule& schedule, const Costs& costs, const MemoryModel& memory,
                                   const Steps& steps, Ticks makespan,
                                   const std::function<bool()>& stopped = {});

}  // namespace pipeloom::study
