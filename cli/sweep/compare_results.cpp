// Results of sweeps, point by point.

#include <fmt/format.h>

#include "cli/numbers.hpp"
#include "cli/pages/compare_pages.hpp"
#include "cli/table.hpp"
#include "sim/io/json/json_text.hpp"
#include "study/answers/scale.hpp"

namespace pipeloom::cli {
namespace {

using sweep::MetricChanges;
using sweep::PointPair;

std::string value(const sweep::ResultTable& table, std::string_view metric, sweep::Row row) {
  return sweep::metric_text(metric, table.metric(metric, {}), row, table.time_unit());
}

std::string change_text(const ComparedResult& result, const std::string& metric, const PointPair& pair) {
  const double before = result.before->metric(metric, {}).number(pair.before);
  const double after = result.after->metric(metric, {}).number(pair.after);
  return before == 0 ? "" : fmt::format("{:+.2f}%", 100 * (after - before) / std::abs(before));
}

std::string counts_table(const ComparedResult& result, const ComparePage& page) {
  Table table({{"metric", Align::Left},
               {"same", Align::Right},
               {"better", Align::Right},
               {"worse", Align::Right},
               {"other", Align::Right},
               {"mean change", Align::Right}});
  for (const MetricChanges& changes : result.comparison.metrics)
    table.add_row({changes.metric, count_text(changes.same), count_text(changes.improved),
                   count_text(changes.worsened), count_text(changes.moved),
                   fmt::format("{:+.2f}%", 100 * changes.mean_relative)});
  return written(table, page);
}

std::string points_table(const ComparedResult& result, const std::string& metric,
                         const std::vector<PointPair>& points, const std::string& title,
                         const ComparePage& page) {
  if (points.empty()) return {};
  Table table({{"point", Align::Right},
               {"", Align::Left},
               {"before", Align::Right},
               {"after", Align::Right},
               {"change", Align::Right}});
  for (std::size_t i = 0; i < std::min(points.size(), page.most); ++i)
    table.add_row({fmt::format("{}", result.before->point(points[i].before)),
                   result.before->title(points[i].before), value(*result.before, metric, points[i].before),
                   value(*result.after, metric, points[i].after), change_text(result, metric, points[i])});
  return heading(title, page) + written(table, page);
}

std::string json_point(const ComparedResult& result, const std::string& metric, const PointPair& pair) {
  return fmt::format(R"({{"point": {}, "before": {}, "after": {}}})", result.before->point(pair.before),
                     result.before->metric(metric, {}).json(pair.before),
                     result.after->metric(metric, {}).json(pair.after));
}

std::string json_points(const ComparedResult& result, const std::string& metric,
                        const std::vector<PointPair>& points) {
  std::string out = "[";
  for (const PointPair& pair : points) {
    if (out.size() > 1) out += ", ";
    out += json_point(result, metric, pair);
  }
  return out + "]";
}

std::string json_result(const ComparedResult& result) {
  const sweep::ResultComparison& found = result.comparison;
  std::string out = fmt::format(
      "\n    {{\"result\": {}, \"both\": {}, \"only_baseline\": {}, \"only_result\": {}, \"changed\": {}, "
      "\"lost\": {},\n"
      "     \"statuses\": [",
      io::json_string(result.title), found.both, found.only_before, found.only_after, found.changed,
      result.lost);
  for (const sweep::StatusChange& change : found.statuses)
    out += fmt::format(R"({}{{"before": "{}", "after": "{}", "points": {}, "first": {}}})",
                       &change == found.statuses.data() ? "" : ", ", name_of(change.before),
                       name_of(change.after), change.count, result.before->point(change.first.before));
  out += "],\n     \"metrics\": {";
  for (const MetricChanges& changes : found.metrics)
    out += fmt::format(
        "{}\n       {}: {{\"same\": {}, \"better\": {}, \"worse\": {}, \"other\": {}, \"mean_relative\": "
        "{},\n"
        "        \"worst\": {},\n        \"best\": {}}}",
        &changes == found.metrics.data() ? "" : ",", io::json_string(changes.metric), changes.same,
        changes.improved, changes.worsened, changes.moved, changes.mean_relative,
        json_points(result, changes.metric, changes.worst),
        json_points(result, changes.metric, changes.best));
  out += "},\n     \"rules\": [";
  for (const sweep::RuleVerdict& verdict : result.verdicts)
    out += fmt::format(R"({}{{"rule": {}, "points": {}}})", &verdict == result.verdicts.data() ? "" : ", ",
                       io::json_string(verdict.rule), verdict.broken);
  return out + "]}";
}

}  // namespace

std::string changed_point(const ComparedResult& result, std::string_view metric, const PointPair& pair) {
  return fmt::format("point {}, {}: {} {}, was {}", result.before->point(pair.before),
                     result.before->title(pair.before), metric, value(*result.after, metric, pair.after),
                     value(*result.before, metric, pair.before));
}

std::string result_page(const std::string& baseline, const ComparedResult& result, const ComparePage& page) {
  const sweep::ResultComparison& found = result.comparison;
  std::string out = fmt::format("{} against {}: {} of {} differ", result.title, baseline,
                                count_text(found.changed), count_text(found.both, "point"));
  if (found.only_before > 0) out += fmt::format("; {} only in {}", count_text(found.only_before), baseline);
  if (found.only_after > 0) out += fmt::format("; {} only in {}", count_text(found.only_after), result.title);
  out += "\n";
  for (const sweep::StatusChange& change : found.statuses)
    out += fmt::format("{}{}, {} before: {}, the first is point {}, {}\n", page.markdown ? "- " : "",
                       name_of(change.after), name_of(change.before), count_text(change.count, "point"),
                       result.before->point(change.first.before), result.before->title(change.first.before));
  out += "\n" + counts_table(result, page);
  for (const MetricChanges& changes : found.metrics) {
    const bool neither = changes.better == study::Better::Neither;
    out +=
        points_table(result, changes.metric, changes.worst,
                     fmt::format("{}: {}", changes.metric, neither ? "moved most" : "worsened most"), page);
    out += points_table(result, changes.metric, changes.best, changes.metric + ": improved most", page);
  }
  return out;
}

std::string results_json(const std::string& baseline, std::span<const ComparedResult> results) {
  std::string out =
      fmt::format("{{\n  \"schema_version\": 1,\n  \"grid\": {},\n  \"baseline\": {},\n  \"results\": [",
                  io::json_string(results.front().before->header().grid), io::json_string(baseline));
  for (const ComparedResult& result : results)
    out += (&result == results.data() ? "" : ",") + json_result(result);
  return out + "\n  ]\n}\n";
}

}  // namespace pipeloom::cli
