#include "study/answers/compare_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/text_tools.hpp"

namespace pipeloom::sweep {
namespace {

/// From here on a double does not tell all integers apart.
constexpr double kExact = 9007199254740992.0;

bool equal_values(const Column& a, Row before, const Column& b, Row after) {
  if (!a.has(before) || !b.has(after)) return a.has(before) == b.has(after);
  if (!a.is_number() || !b.is_number()) return a.json(before) == b.json(after);
  if (a.number(before) != b.number(after)) return false;
  return std::abs(a.number(before)) < kExact || a.json(before) == b.json(after);
}

/// after / before - 1; infinite where there was nothing before.
double relative(const Column& a, const Column& b, const PointPair& pair) {
  const double before = a.number(pair.before);
  const double after = b.number(pair.after);
  if (before == 0) return after == 0 ? 0 : std::copysign(HUGE_VAL, after);
  return (after - before) / std::abs(before);
}

study::Better direction_of(const std::string& metric) {
  const study::Metric* known = study::metric_named(metric);
  return known == nullptr ? study::Better::Neither : known->better;
}

struct Changed {
  double worse = 0;  ///< how much worse, relative; negative for better
  PointPair pair;
};

void keep_largest(std::vector<Changed>& all, std::size_t most, std::vector<PointPair>& out) {
  const auto kept = static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  std::partial_sort(all.begin(), all.begin() + kept, all.end(), [](const Changed& x, const Changed& y) {
    return x.worse != y.worse ? x.worse > y.worse : x.pair.before < y.pair.before;
  });
  for (std::ptrdiff_t i = 0; i < kept; ++i) out.push_back(all[static_cast<std::size_t>(i)].pair);
}

MetricChanges changes_of(const std::string& metric, const Column& a, const Column& b,
                         const std::vector<PointPair>& pairs, std::size_t most) {
  MetricChanges out;
  out.metric = metric;
  out.better = direction_of(metric);
  std::vector<Changed> worse;
  std::vector<Changed> better;
  std::size_t with_relative = 0;
  for (const PointPair& pair : pairs) {
    if (!a.has(pair.before) || !b.has(pair.after)) continue;
    const double change = relative(a, b, pair);
    if (std::isfinite(change)) {
      out.mean_relative += change;
      ++with_relative;
    }
    if (equal_values(a, pair.before, b, pair.after)) {
      ++out.same;
    } else if (out.better == study::Better::Neither) {
      ++out.moved;
      worse.push_back({std::abs(change), pair});
    } else {
      const double loss = out.better == study::Better::Lower ? change : -change;
      ++(loss > 0 ? out.worsened : out.improved);
      (loss > 0 ? worse : better).push_back({std::abs(loss), pair});
    }
  }
  if (with_relative > 0) out.mean_relative /= static_cast<double>(with_relative);
  keep_largest(worse, most, out.worst);
  keep_largest(better, most, out.best);
  return out;
}

std::vector<StatusChange> status_changes(const ResultTable& before, const ResultTable& after,
                                         const std::vector<PointPair>& pairs) {
  std::map<std::pair<Status, Status>, StatusChange> found;
  for (const PointPair& pair : pairs) {
    const Status from = before.status(pair.before);
    const Status to = after.status(pair.after);
    if (from == to) continue;
    StatusChange& change = found.try_emplace({from, to}, StatusChange{from, to, 0, pair}).first->second;
    ++change.count;
  }
  std::vector<StatusChange> out;
  for (const auto& [statuses, change] : found) out.push_back(change);
  std::stable_sort(out.begin(), out.end(),
                   [](const StatusChange& a, const StatusChange& b) { return a.count > b.count; });
  return out;
}

/// Metrics that both results have: a column of each.
struct Shared {
  std::string name;
  const Column* before;
  const Column* after;
};

std::vector<Shared> shared_metrics(const ResultTable& before, const ResultTable& after) {
  std::vector<Shared> out;
  for (const auto& metric : before.metrics())
    for (const auto& other : after.metrics())
      if (metric.name == other.name) out.push_back({metric.name, &metric.column, &other.column});
  return out;
}

bool differs(const ResultTable& before, const ResultTable& after, const std::vector<Shared>& metrics,
             const PointPair& pair) {
  if (before.status(pair.before) != after.status(pair.after)) return true;
  return std::any_of(metrics.begin(), metrics.end(), [&](const Shared& metric) {
    return !equal_values(*metric.before, pair.before, *metric.after, pair.after);
  });
}

}  // namespace

std::vector<PointPair> same_points(const ResultTable& before, const ResultTable& after, const Where& where) {
  if (before.header().grid != after.header().grid)
    throw InputError(
        where, fmt::format("this result is of grid {}, the baseline of grid {}: their points are not the "
                           "same; sweep one grid with both versions, or read them side by side with "
                           "`pipeloom report`",
                           shortened(after.header().grid, 40), shortened(before.header().grid, 40)));
  std::vector<PointPair> out;
  out.reserve(std::min(before.rows(), after.rows()));
  // Points rise in both.
  for (Row a = 0, b = 0; a < before.rows() && b < after.rows();) {
    if (before.point(a) == after.point(b))
      out.push_back({a++, b++});
    else
      ++(before.point(a) < after.point(b) ? a : b);
  }
  return out;
}

ResultComparison compare_results(const ResultTable& before, const ResultTable& after,
                                 const std::vector<PointPair>& pairs, std::size_t most) {
  ResultComparison out;
  out.both = pairs.size();
  out.only_before = before.rows() - pairs.size();
  out.only_after = after.rows() - pairs.size();
  const std::vector<Shared> metrics = shared_metrics(before, after);
  for (const Shared& metric : metrics)
    out.metrics.push_back(changes_of(metric.name, *metric.before, *metric.after, pairs, most));
  for (const PointPair& pair : pairs)
    if (differs(before, after, metrics, pair)) ++out.changed;
  out.statuses = status_changes(before, after, pairs);
  return out;
}

RuleVerdict judge(const study::CompareRule& rule, const ResultTable& before, const ResultTable& after,
                  const std::vector<PointPair>& pairs) {
  const Where where{"--fail-if"};
  const Column& a = before.metric(rule.metric, where);
  const Column& b = after.metric(rule.metric, where);
  RuleVerdict out{rule.text, 0, std::nullopt};
  // Values are in the unit of their file already: no ticks.
  std::vector<study::MetricRow> row = {{rule.metric, study::Unit::Count, study::Better::Lower, {0.0, 0.0}}};
  double most = 0;
  for (const PointPair& pair : pairs) {
    if (!a.has(pair.before) || !b.has(pair.after)) continue;
    row[0].values = {a.number(pair.before), b.number(pair.after)};
    if (!study::breaks(rule, row, 1, TimeUnit::Unit)) continue;
    const double by = (b.number(pair.after) - a.number(pair.before)) * (rule.greater ? 1 : -1);
    if (out.broken++ == 0 || by > most) {
      most = by;
      out.worst = pair;
    }
  }
  return out;
}

std::vector<PointPair> lost_points(const ResultTable& before, const ResultTable& after,
                                   const std::vector<PointPair>& pairs) {
  std::vector<PointPair> out;
  for (const PointPair& pair : pairs)
    if (before.status(pair.before) == Status::Ok && after.status(pair.after) != Status::Ok)
      out.push_back(pair);
  return out;
}

}  // namespace pipeloom::sweep
