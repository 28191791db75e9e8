#pragma once

// Two runs next to each other: matched ops, those that take longer, and the causes of the difference in idle time. Simulated and
// measured runs alike: a run is its timeline, and the other facts that are known.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/metrics.hpp>
#include <pipeloom/run.hpp>
#include <pipeloom/simulate.hpp>
#include "sim/analysis/idle_causes.hpp"
#include "sim/base/tick_sum.hpp"
#include "study/report/metric.hpp"

namespace pipeloom::study {

/// A metric of every run, times in ticks. Nothing where a run does not know it.
struct MetricRow {
  std::string_view name;
  Unit unit = Unit::Count;
  Better better = Better::Lower;
  std::vector<std::optional<double>> values;  ///< [run]
  /// values[run] / values[0] - 1; nothing where either is unknown or the baseline is 0.
  [[nodiscard]] std::optional<double> relative(std::size_t run) const;
};
/// The rows of a comparison's table, in the terminal, on a page and in the window: the metrics of `table` with a place in it. Rows that no run
/// knows are left out. runs[0] is the baseline; times of a run that has no same_clock() with it are left out.
[[nodiscard]] std::vector<MetricRow> compare_metrics(std::span<const Run* const> runs,
                                                     std::span<const Metric> table = all_metrics());
/// The same for the known facts of each run. REQUIRES: timelines.
[[nodiscard]] std::vector<MetricRow> compare_metrics(std::span<const RunNumbers> runs,
                                                     std::span<const Metric> table = all_metrics());
/// All of these, known or not, then the other metrics: what --fail-if and JSON know.
[[nodiscard]] std::vector<MetricRow> compare_all_metrics(std::span<const Run* const> runs,
                                                         std::span<const Metric> table = all_metrics());

/// Within 1e-3 of each other: measured clocks tick.
[[nodiscard]] bool same_duration(TickSum a, TickSum b);

/// No op of the other run.
inline constexpr std::size_t kUnmatched = ~std::size_t{0};

/// Why ops of the same name do different work in the two: a stage of 8 is another part of the model than one of 16, and so is a slice. "" if
/// they do the same.
[[nodiscard]] std::string different_parts(const Schedule& a, const Schedule& b);

/// match[i] is the op index of `a` that does what op i of `b` does (same kind, stage, microbatch and slice, and the same rank where
/// several have it), or kUnmatched: for all ops where different_parts() says why. O(ops).
[[nodiscard]] std::vector<std::size_t> match_ops(const Schedule& a, const Schedule& b);

/// An op in both runs. Positions are op indices; times are those of one step.
struct OpDifference {
  std::size_t in_a = 0;
  std::size_t in_b = 0;
  Ticks duration = 0;  ///< b - a
  Ticks start = 0;     ///< b - a
};
struct OpComparison {
  std::vector<std::size_t> match;  ///< of match_ops()
  std::size_t matched = 0;
  std::size_t only_a = 0;
  std::size_t only_b = 0;
  /// True if some matched op takes another time: then durations differ, else only places do.
  bool durations_differ = false;
  /// The largest differences in durations, or else in places, largest first; ties by op index of b. At most `most`.
  std::vector<OpDifference> largest;
  Ticks largest_difference = 0;
};
/// `step_a`, `step_b`: which steps. Durations within 1e-3 of each other count as equal: measured clocks tick.
[[nodiscard]] OpComparison compare_ops(const Timeline& a, const Timeline& b, int step_a, int step_b,
                                       std::size_t most = 100);

/// difference[i] of op i of `b`, -127 (less) .. 127 (more), scaled by the largest; 0 for equal, -128 for ops that `a` lacks.
[[nodiscard]] std::vector<std::int8_t> tints(const Timeline& a, const Timeline& b,
                                             const OpComparison& comparison, int step_a, int step_b);

/// Idle time of a run by cause, summed over ranks and per rank.
struct CauseTotals {
  CauseSums total;
  std::vector<IdleCauses> of_rank;
};
[[nodiscard]] CauseTotals cause_totals(const std::vector<std::vector<IdleSpan>>& idle);

/// "idle time is 12.0 ms less: most of it cooldown, 9.0 ms less, of which rank 3 has 4.0 ms", in one line; what grew where idle time is
/// more; "idle time is the same, but warmup is 3.0 ms more". REQUIRES: `unit` is that of both.
[[nodiscard]] std::string explain_idle(const CauseTotals& a, const CauseTotals& b, TimeUnit unit);

/// Idle time of one cause on one rank.
struct CauseChange {
  std::size_t rank = 0;
  IdleCause cause = IdleCause::Warmup;
  Ticks before = 0;
  Ticks after = 0;
  [[nodiscard]] Ticks change() const { return after - before; }
};
/// Changes, the largest first, ties by rank and cause; at most `most`. Empty if the numbers of ranks differ.
[[nodiscard]] std::vector<CauseChange> cause_changes(const CauseTotals& a, const CauseTotals& b,
                                                     std::size_t most = 100);

/// True if times of the two can be compared: both in seconds of some size, or both abstract.
[[nodiscard]] bool same_clock(const Timeline& a, const Timeline& b);
/// "times cannot be compared: ms here, abstract units there; set costs.time_unit" unless same_clock(), then "".
[[nodiscard]] std::string clock_difference(const Timeline& a, const Timeline& b);

/// "total work differs: 48.0 vs 96.0; ..." if the busy times of the two differ by more than 1e-3, else "": with what makes the runs
/// comparable where something does (costs.per where they cut one model differently), else why they are not. REQUIRES: same_clock().
[[nodiscard]] std::string work_difference(const Timeline& a, const Timeline& b);

/// A page's names for the two runs of a comparison.
struct PairNames {
  std::string_view a;
  std::string_view b;
};
/// Remarks on `b` against the baseline `a` that the numbers do not show, a line each: clocks and work that differ, which idle cause changed and
/// where, how many ops are in one of them only.
[[nodiscard]] std::vector<std::string> remarks(const Run& a, const Run& b, const OpComparison& ops,
                                               const PairNames& names);

/// Offset of each rank's clock in `b` ahead of `a`, relative to the other ranks: median over its matched ops of the difference of
/// starts, less the median of all ranks. [rank of b]; 0 for ranks without matched ops.
[[nodiscard]] std::vector<Ticks> clock_offsets(const Timeline& a, const Timeline& b,
                                               const OpComparison& comparison);
/// `timeline` with every rank's clock set back by its offset; times still count from the first start.
[[nodiscard]] Timeline with_offsets(const Timeline& timeline, std::span<const Ticks> offsets);

/// Makespan of every step.
[[nodiscard]] std::vector<Ticks> step_makespans(const Timeline& timeline);

}  // namespace pipeloom::study
