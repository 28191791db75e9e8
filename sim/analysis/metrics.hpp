#pragma once

// Numbers about a timeline. All are of its first step.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "sim/engine/simulator.hpp"

namespace pipeloom {

/// From the ranks' numbers to those of the whole run: ideal_time, max_window, the ratios, peak_rank. REQUIRES: `ranks` is filled in.
void add_totals(Metrics& metrics);

/// Facts that a timeline alone does not hold where messages block or queue: they come from the program's run.
struct RunFacts {
  std::vector<IdleCauses> idle_causes;  ///< [rank]
  Ticks period = 0;                     ///< as steady_period() finds it
};

/// step_time and steady_period from the makespan, and from `facts` or the schedule where steps overlap.
void add_step_times(Metrics& metrics, const Schedule& schedule, const Costs& costs, const Steps& steps,
                    const RunFacts* facts = nullptr);

/// REQUIRES: tables of costs and memory fit the timeline's placement. Without `facts` transfers are those of the `latency` model.
[[nodiscard]] Metrics measure(const Timeline& timeline, const Costs& costs, const MemoryModel& memory,
                              const Steps& steps, const RunFacts* facts = nullptr);
/// All of it but lower_bound, which needs the dependency graph and most of the time and memory.
[[nodiscard]] Metrics measure_times(const Timeline& timeline, const Costs& costs, const MemoryModel& memory,
                                    const Steps& steps, const RunFacts* facts = nullptr);

}  // namespace pipeloom
