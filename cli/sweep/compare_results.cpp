// Results of sweeps, point by point.

#include <fmt/format.h>

#include "cli/numbers.hpp"
#include "cli/pages/compare_pages.hpp"
#include "sim/io/json/json_writer.hpp"
#include "study/answers/select.hpp"

namespace pipeloom::cli {
namespace {

using sweep::MetricChanges;
using sweep::PointPair;

std::string value(const sweep::ResultTable& table, std::string_view metric, sweep::Row row) {
  return sweep::metric_text(metric, table.metric(metric, {}), row, table.units());
}

std::string change_of(const ComparedResult& result, const std::string& metric, const PointPair& pair) {
  const double before = result.before->metric(metric, {}).number(pair.before);
  const double after = result.after->metric(metric, {}).number(pair.after);
  return before == 0 ? "" : change_text((after - before) / std::abs(before));
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
                   change_text(changes.mean_relative)});
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
                   value(*result.after, metric, points[i].after), change_of(result, metric, points[i])});
  return heading(title, page) + written(table, page);
}

void write_points(io::JsonWriter& out, const ComparedResult& result, const std::string& metric,
                  const std::vector<PointPair>& points) {
  out.array();
  for (const PointPair& pair : points) {
    out.object().member("point", result.before->point(pair.before));
    out.key("before").raw(result.before->metric(metric, {}).json(pair.before));
    out.key("after").raw(result.after->metric(metric, {}).json(pair.after)).close();
  }
  out.close();
}

void write_metric(io::JsonWriter& out, const ComparedResult& result, const MetricChanges& changes) {
  out.object().member("same", changes.same).member("better", changes.improved);
  out.member("worse", changes.worsened).member("other", changes.moved);
  out.key("mean_relative").raw(fmt::format("{}", changes.mean_relative));
  write_points(out.line(8).key("worst"), result, changes.metric, changes.worst);
  write_points(out.line(8).key("best"), result, changes.metric, changes.best);
  out.close();
}

void write_result(io::JsonWriter& out, const ComparedResult& result) {
  const sweep::ResultComparison& found = result.comparison;
  out.line(4).object().member("result", result.title).member("both", found.both);
  out.member("only_baseline", found.only_before).member("only_result", found.only_after);
  out.member("changed", found.changed).member("lost", result.lost).line(5).key("statuses").array();
  for (const sweep::StatusChange& change : found.statuses)
    out.object()
        .member("before", name_of(change.before))
        .member("after", name_of(change.after))
        .member("points", change.count)
        .member("first", result.before->point(change.first.before))
        .close();
  out.close().line(5).key("metrics").object();
  for (const MetricChanges& changes : found.metrics)
    write_metric(out.line(7).key(changes.metric), result, changes);
  out.close().line(5).key("rules").array();
  for (const sweep::RuleVerdict& verdict : result.verdicts)
    out.object().member("rule", verdict.rule).member("points", verdict.broken).close();
  out.close().close();
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
  return io::written_json(io::kReportStyle,
                          [&](io::JsonWriter& out) {
                            out.object().line(2).member("schema_version", 1);
                            out.line(2).member("grid", results.front().before->header().grid);
                            out.line(2).member("baseline", baseline).line(2).key("results").array();
                            for (const ComparedResult& result : results) write_result(out, result);
                            out.line(2).close().close(0);
                          }) +
         "\n";
}

}  // namespace pipeloom::cli
