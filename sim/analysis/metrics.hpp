#pragma once

// Numbers about a timeline. All are of its first step.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/analysis/bounds.hpp"
#include "sim/analysis/idle_causes.hpp"
#include "sim/costs.hpp"
#include "sim/memory.hpp"
#include "sim/steps.hpp"
#include "sim/timeline.hpp"

namespace pipeloom {

struct RankMetrics {
  /// Sum of entry durations; a group counts once.
  Ticks busy = 0;
  /// makespan - busy.
  Ticks idle = 0;
  Ticks first_start = 0;
  Ticks last_end = 0;
  RankMemory memory;
  /// Sums exactly to `idle`.
  IdleCauses idle_causes;
  [[nodiscard]] Ticks window() const { return last_end - first_start; }
};

struct Metrics {
  /// Last end - first start over all ranks.
  Ticks makespan = 0;
  /// makespan + optimizer under `barrier`; steady_period under `post-validation`.
  Ticks step_time = 0;
  Ticks steady_period = 0;
  /// max_r of the work that rank must do.
  Ticks ideal_time = 0;
  Ticks max_window = 0;
  LowerBound lower_bound;
  /// sum idle / (p * makespan), in [0, 1). 0 for an empty timeline.
  double bubble_ratio = 0;
  /// sum idle / sum busy.
  double bubble_overhead = 0;
  /// 1 - max busy / max window: the zero-bubble papers' bubble rate when stages are equal.
  double window_bubble_ratio = 0;
  std::size_t num_ops = 0;
  std::size_t num_entries = 0;
  std::vector<RankMetrics> ranks;
  /// The rank with the largest peak_bytes, the lowest such.
  Rank peak_rank;
};

/// From the ranks' numbers to those of the whole run: ideal_time, max_window, the ratios, peak_rank. REQUIRES: `ranks` is filled in.
void add_totals(Metrics& metrics);

/// What a timeline alone does not tell where messages block or queue: it comes from the program's run.
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
