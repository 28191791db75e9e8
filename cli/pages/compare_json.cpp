#include "cli/pages/compare_json.hpp"

#include <fmt/format.h>

#include "sim/io/json/json_writer.hpp"
#include "sim/text.hpp"
#include "study/explain/shown/explain_runs.hpp"
#include "study/explain/shown/explain_table.hpp"
#include "study/report/run_roots.hpp"

namespace pipeloom::cli {
namespace {

using study::MetricRow;
using sweep::MetricChanges;
using sweep::PointPair;

std::string number_text(double value) {
  return fmt::format("{}", value);
}

void write_value(io::JsonWriter& out, const MetricRow& row, std::optional<double> value, TimeUnit unit) {
  if (!value)
    out.null();
  else if (row.unit == study::Unit::Time)
    out.ticks(static_cast<Ticks>(*value), unit);
  else
    out.raw(number_text(*value));
}

void write_ops(io::JsonWriter& out, const pipeloom::Run& b, const study::OpComparison& ops, TimeUnit unit) {
  const Schedule& schedule = *b.timeline.schedule;
  for (const study::OpDifference& difference : ops.largest) {
    out.object().key("op").quoted(schedule.ops()[difference.in_b]);
    out.member("rank", schedule.rank_of_op(difference.in_b).value());
    out.key("start").ticks(difference.start, unit).key("duration").ticks(difference.duration, unit).close();
  }
}

void write_causes(io::JsonWriter& out, const pipeloom::Run& a, const pipeloom::Run& b) {
  if (a.idle.empty() || b.idle.empty()) return;
  const TimeUnit unit = a.timeline.unit;
  for (const study::CauseChange& change :
       cause_changes(study::cause_totals(a.idle), study::cause_totals(b.idle))) {
    out.object().member("rank", change.rank).member("cause", name_of(change.cause));
    out.key("before").raw(format_ticks(change.before, unit));
    out.key("after").raw(format_ticks(change.after, unit)).close();
  }
}

void write_comparison(io::JsonWriter& out, const pipeloom::Run& a, const pipeloom::Run& b, std::size_t run) {
  const auto ops = study::compare_ops(a.timeline, b.timeline, 0, 0);
  const bool comparable = study::same_clock(a.timeline, b.timeline);
  out.line(4).object().member("run", run).member("matched", ops.matched);
  out.member("only_baseline", ops.only_a).member("only_run", ops.only_b);
  out.member("remarks", study::remarks(a, b, ops, {a.title, b.title}));
  out.line(5).member("durations_differ", comparable && ops.durations_differ).line(5).key("ops").array();
  if (comparable) write_ops(out, b, ops, a.timeline.unit);
  out.close().line(5).key("idle_changes").array();
  if (comparable) write_causes(out, a, b);
  out.close();
  if (const auto found = study::explain::explanation_between(a, b)) {
    out.line(5).key("explanation");
    study::explain::write_explanation(out, *found, study::explain::transfer_model_of(a), 7);
  }
  out.close();
}

void write_runs(io::JsonWriter& out, std::span<const pipeloom::Run* const> runs,
                std::span<const MetricRow> rows, std::span<const RunVerdict> verdicts) {
  const TimeUnit unit = runs[0]->timeline.unit;
  out.object().line(2).member("schema_version", 1).line(2).member("time_unit", name_of(unit));
  out.line(2).key("runs").array();
  for (const pipeloom::Run* run : runs) out.text(run->title);
  out.close().line(2).key("roots").array();
  for (const pipeloom::Run* run : runs) {
    const bool comparable = study::same_clock(runs[0]->timeline, run->timeline);
    study::write_roots(out, *run->timeline.schedule, study::roots_of(*run),
                       comparable ? unit : run->timeline.unit);
  }
  out.close().line(2).key("metrics").object();
  for (const MetricRow& row : rows) {
    out.line(4).key(row.name).array();
    for (const auto& value : row.values) write_value(out, row, value, unit);
    out.close();
  }
  out.line(2).close().line(2).key("comparisons").array();
  for (std::size_t run = 1; run < runs.size(); ++run) write_comparison(out, *runs[0], *runs[run], run);
  out.line(2).close().line(2).key("rules").array();
  for (const RunVerdict& verdict : verdicts)
    out.object()
        .member("rule", verdict.rule)
        .member("run", verdict.run)
        .member("holds", verdict.holds)
        .close();
  out.close().close(0);
}

void write_points(io::JsonWriter& out, const study::page::ComparedResult& result, const std::string& metric,
                  const std::vector<PointPair>& points) {
  out.array();
  for (const PointPair& pair : points) {
    out.object().member("point", result.before->point(pair.before));
    out.key("before").raw(result.before->metric(metric, {}).json(pair.before));
    out.key("after").raw(result.after->metric(metric, {}).json(pair.after)).close();
  }
  out.close();
}

void write_metric(io::JsonWriter& out, const study::page::ComparedResult& result,
                  const MetricChanges& changes) {
  out.object().member("same", changes.same).member("better", changes.improved);
  out.member("worse", changes.worsened).member("other", changes.moved);
  out.key("mean_relative").raw(fmt::format("{}", changes.mean_relative));
  write_points(out.line(8).key("worst"), result, changes.metric, changes.worst);
  write_points(out.line(8).key("best"), result, changes.metric, changes.best);
  out.close();
}

void write_result(io::JsonWriter& out, const study::page::ComparedResult& result) {
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

std::string runs_json(std::span<const pipeloom::Run* const> runs, std::span<const MetricRow> rows,
                      std::span<const RunVerdict> verdicts) {
  return io::written_json(io::kReportStyle,
                          [&](io::JsonWriter& out) { write_runs(out, runs, rows, verdicts); }) +
         "\n";
}

std::string results_json(const std::string& baseline, std::span<const study::page::ComparedResult> results) {
  return io::written_json(io::kReportStyle,
                          [&](io::JsonWriter& out) {
                            out.object().line(2).member("schema_version", 1);
                            out.line(2).member("grid", results.front().before->header().grid);
                            out.line(2).member("baseline", baseline).line(2).key("results").array();
                            for (const study::page::ComparedResult& result : results)
                              write_result(out, result);
                            out.line(2).close().close(0);
                          }) +
         "\n";
}

}  // namespace pipeloom::cli
