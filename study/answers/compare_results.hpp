#pragma once

// Two results of the same grid, point by point: the changes between two versions of a schedule, of costs in the base, or of this program.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "study/compare/compare_rule.hpp"
#include "study/sweep/result/table.hpp"

namespace pipeloom::sweep {

/// A point in both results.
struct PointPair {
  Row before = 0;
  Row after = 0;
};

/// One metric of all points that have it in both.
struct MetricChanges {
  std::string metric;
  study::Better better = study::Better::Lower;
  std::size_t same = 0;
  std::size_t improved = 0;
  std::size_t worsened = 0;
  /// Points that changed, of a metric without a better direction.
  std::size_t moved = 0;
  /// Mean over the points of after / before - 1; points with 0 before do not count.
  double mean_relative = 0;
  /// Largest changes for the worse (of any kind without a direction) and for the better, by after / before, in this order; equal ones by
  /// point.
  std::vector<PointPair> worst;
  std::vector<PointPair> best;
};

struct StatusChange {
  Status before = Status::Ok;
  Status after = Status::Ok;
  std::size_t count = 0;
  PointPair first;
};

struct ResultComparison {
  std::size_t both = 0;
  std::size_t only_before = 0;
  std::size_t only_after = 0;
  /// Points whose status or a metric differs.
  std::size_t changed = 0;
  std::vector<MetricChanges> metrics;  ///< those that both results have
  std::vector<StatusChange> statuses;  ///< most frequent first
};

/// Pairs of rows with the same point. Throws InputError at `where` if the results are of different grids.
[[nodiscard]] std::vector<PointPair> same_points(const ResultTable& before, const ResultTable& after,
                                                 const Where& where);
/// At most `most` points in each list. O(n log n).
[[nodiscard]] ResultComparison compare_results(const ResultTable& before, const ResultTable& after,
                                               const std::vector<PointPair>& pairs, std::size_t most = 10);

/// Verdict of a rule of --fail-if on all points.
struct RuleVerdict {
  std::string rule;
  std::size_t broken = 0;
  /// The point that breaks it most, by the difference of its values.
  std::optional<PointPair> worst;
};
/// Points that lack the metric in either result are passed over: lost_points() has those. Throws InputError at --fail-if for a metric
/// that not both results have.
[[nodiscard]] RuleVerdict judge(const study::CompareRule& rule, const ResultTable& before,
                                const ResultTable& after, const std::vector<PointPair>& pairs);
/// Points that were ok and are not any more.
[[nodiscard]] std::vector<PointPair> lost_points(const ResultTable& before, const ResultTable& after,
                                                 const std::vector<PointPair>& pairs);

}  // namespace pipeloom::sweep
