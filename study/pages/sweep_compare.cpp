#include "study/pages/sweep_compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/answers/select.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study::page {
namespace {

using sweep::MetricChanges;
using sweep::PointPair;

std::string point_value(const sweep::ResultTable& table, std::string_view metric, sweep::Row row) {
  return sweep::metric_text(metric, table.metric(metric, {}), row, table.units());
}

std::string point_change(const ComparedResult& result, const std::string& metric, const PointPair& pair) {
  const double before = result.before->metric(metric, {}).number(pair.before);
  const double after = result.after->metric(metric, {}).number(pair.after);
  return before == 0 ? "" : change_text((after - before) / std::abs(before));
}

PageTable counts_table(const ComparedResult& result) {
  PageTable table;
  table.name = "metrics of " + result.title;
  table.columns = {{"metric", Align::Left}, {"same", Align::Right},  {"better", Align::Right},
                   {"worse", Align::Right}, {"other", Align::Right}, {"mean change", Align::Right}};
  for (const MetricChanges& changes : result.comparison.metrics)
    table.rows.push_back({{changes.metric},
                          {count_text(changes.same)},
                          {count_text(changes.improved)},
                          {count_text(changes.worsened)},
                          {count_text(changes.moved)},
                          {change_text(changes.mean_relative)}});
  return table;
}

/// Adds a table of the points, unless there are none.
void add_points(const ComparedResult& result, const std::string& metric, const std::vector<PointPair>& points,
                std::size_t most, std::string caption, std::vector<Block>& blocks) {
  if (points.empty()) return;
  PageTable table;
  table.caption = std::move(caption);
  table.columns = {{"point", Align::Right},
                   {"", Align::Left},
                   {"before", Align::Right},
                   {"after", Align::Right},
                   {"change", Align::Right}};
  for (std::size_t i = 0; i < std::min(points.size(), most); ++i)
    table.rows.push_back({{fmt::format("{}", result.before->point(points[i].before))},
                          {result.before->title(points[i].before)},
                          {point_value(*result.before, metric, points[i].before)},
                          {point_value(*result.after, metric, points[i].after)},
                          {point_change(result, metric, points[i])}});
  blocks.emplace_back(std::move(table));
}

/// How many points differ, and how many have another status than before.
List counted_points(const std::string& baseline, const ComparedResult& result) {
  const sweep::ResultComparison& found = result.comparison;
  std::string head = fmt::format("{} against {}: {} of {} differ", result.title, baseline,
                                 count_text(found.changed), count_text(found.both, "point"));
  if (found.only_before > 0) head += fmt::format("; {} only in {}", count_text(found.only_before), baseline);
  if (found.only_after > 0)
    head += fmt::format("; {} only in {}", count_text(found.only_after), result.title);
  List list{{std::move(head)}};
  for (const sweep::StatusChange& change : found.statuses)
    list.items.push_back(fmt::format("{}, {} before: {}, the first is point {}, {}", name_of(change.after),
                                     name_of(change.before), count_text(change.count, "point"),
                                     result.before->point(change.first.before),
                                     result.before->title(change.first.before)));
  return list;
}

}  // namespace

std::string changed_point(const ComparedResult& result, std::string_view metric, const PointPair& pair) {
  return fmt::format("point {}, {}: {} {}, was {}", result.before->point(pair.before),
                     result.before->title(pair.before), metric,
                     point_value(*result.after, metric, pair.after),
                     point_value(*result.before, metric, pair.before));
}

Page results_answer(const std::string& baseline, std::span<const ComparedResult> results, std::size_t most) {
  Page page;
  for (const ComparedResult& result : results) {
    page.lead.emplace_back(counted_points(baseline, result));
    page.lead.emplace_back(counts_table(result));
    for (const MetricChanges& changes : result.comparison.metrics) {
      const bool neither = changes.better == Better::Neither;
      add_points(result, changes.metric, changes.worst, most,
                 fmt::format("{}: {}", changes.metric, neither ? "moved most" : "worsened most"), page.lead);
      add_points(result, changes.metric, changes.best, most, changes.metric + ": improved most", page.lead);
    }
  }
  return page;
}

}  // namespace pipeloom::study::page
