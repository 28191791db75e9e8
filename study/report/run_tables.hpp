#pragma once

// A run as tables for people. The report has the same numbers with all their digits.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "study/report/metric.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/scenario_run.hpp"
#include "study/text/table.hpp"

namespace pipeloom::study {

/// Above this many ranks the table shows a selection unless everything is asked for.
inline constexpr std::size_t kRanksShown = 16;

/// "zb-h1: 32 ranks, 96 microbatches; 9,216 ops; times in ms".
[[nodiscard]] std::string run_title(const Run& run);

/// The metrics of the whole run: name, value, its meaning or comparison. `metrics`: the table that they are in.
[[nodiscard]] Table summary_table(const Run& run, std::span<const Metric> metrics = all_metrics());

/// A row per rank of `ranks`: work, idle time and its causes, memory. Causes that no rank of the run has are left out
/// unless `everything`.
[[nodiscard]] Table rank_table(const Run& run, const std::vector<Rank>& ranks, bool everything);

/// At most `limit` ranks in order: the first and last, the busiest, the most idle and the fullest one, and the rest spread
/// evenly. REQUIRES: limit >= 5.
[[nodiscard]] std::vector<Rank> interesting_ranks(const Metrics& metrics, std::size_t limit);

/// Mean and quantiles of makespan and bubble over scenarios.
[[nodiscard]] Table scenario_times_table(const ScenarioSummary& scenarios, TimeUnit unit);
/// The parts to which the step is most sensitive: the first few of stages, ranks, kinds of op and links, or `everything`.
[[nodiscard]] Table sensitivity_table(const ScenarioSummary& scenarios, bool everything);
/// "1,000 scenarios, seed 0".
[[nodiscard]] std::string scenario_title(const ScenarioSummary& scenarios);
/// "over the memory limit: rank 0 needs 81.1 GB (75.5 GiB) at 0F3, the limit is 80.0 GB (74.5 GiB); ..."
[[nodiscard]] std::string over_limit_text(const OverLimit& over, const MemoryModel& model);

}  // namespace pipeloom::study
