// Runs side by side: metrics, causes of idle time and ops that differ.

#include <fmt/format.h>

#include <algorithm>

#include "cli/numbers.hpp"
#include "cli/pages/compare_pages.hpp"
#include "sim/io/json/json_writer.hpp"
#include "sim/memory.hpp"
#include "sim/text.hpp"
#include "study/compare/compare.hpp"
#include "study/explain/shown/explain_json.hpp"
#include "study/explain/shown/explain_runs.hpp"
#include "study/explain/shown/explain_table.hpp"
#include "study/report/run_roots.hpp"

namespace pipeloom::cli {
namespace {

using study::MetricRow;

std::string number_text(double value) {
  return fmt::format("{}", value);
}

std::string value_text(const MetricRow& row, double value, const pipeloom::Run& run, TimeUnit unit) {
  if (row.unit == study::Unit::Time) return format_ticks(static_cast<Ticks>(value), unit);
  if (row.unit == study::Unit::Bytes && run.memory != nullptr)
    return memory_text_of_bytes(*run.memory, value);
  if (row.unit == study::Unit::PerSecond) return study::rate_text(value);
  return row.unit == study::Unit::Ratio ? percent_text(value) : number_text(value);
}

std::string signed_ticks(Ticks ticks, TimeUnit unit) {
  return fmt::format("{}{}", ticks > 0 ? "+" : "", format_ticks(ticks, unit));
}

/// "times in ms", whatever units the runs have of their own; "" for abstract ones.
std::string unit_text(std::string_view before, TimeUnit unit) {
  return unit == TimeUnit::Unit ? std::string() : fmt::format("{}{}", before, name_of(unit));
}

std::string metrics_table(std::span<const pipeloom::Run* const> runs, const ComparePage& page) {
  const TimeUnit unit = runs[0]->timeline.unit;
  std::vector<Column> columns = {{unit_text("times in ", unit), Align::Left}};
  for (std::size_t run = 0; run < runs.size(); ++run) {
    columns.push_back({runs[run]->title, Align::Right});
    if (run > 0) columns.push_back({"change", Align::Right});
  }
  Table table(columns);
  for (const MetricRow& row : study::compare_metrics(runs)) {
    std::vector<std::string> cells = {std::string(row.name)};
    for (std::size_t run = 0; run < runs.size(); ++run) {
      cells.push_back(row.values[run] ? value_text(row, *row.values[run], *runs[run], unit) : "-");
      const auto relative = run > 0 ? row.relative(run) : std::nullopt;
      if (run > 0) cells.push_back(relative ? change_text(*relative) : "");
    }
    table.add_row(cells);
  }
  return written(table, page);
}

/// The causes that hold each run back, a line for each run.
std::string roots_lines(std::span<const pipeloom::Run* const> runs, const ComparePage& page) {
  std::string text;
  for (const pipeloom::Run* const run : runs)
    if (const std::string roots = study::roots_text(*run->timeline.schedule, study::roots_of(*run));
        !roots.empty())
      text += fmt::format("{}{} is held back: {}.\n", page.markdown ? "- " : "", run->title, roots);
  return text.empty() ? text : '\n' + text;
}

/// Changes of idle causes by rank.
std::string causes_table(const pipeloom::Run& a, const pipeloom::Run& b, const ComparePage& page) {
  if (a.idle.empty() || b.idle.empty()) return {};
  const auto changes = cause_changes(study::cause_totals(a.idle), study::cause_totals(b.idle), page.most);
  if (changes.empty()) return {};
  const TimeUnit unit = a.timeline.unit;
  Table table({{"rank", Align::Right},
               {"idle", Align::Left},
               {"before", Align::Right},
               {"after", Align::Right},
               {"change", Align::Right}});
  for (const study::CauseChange& change : changes)
    table.add_row({fmt::format("{}", change.rank), std::string(name_of(change.cause)),
                   format_ticks(change.before, unit), format_ticks(change.after, unit),
                   signed_ticks(change.change(), unit)});
  return heading(b.title + ": idle time that differs most" + unit_text(", in ", unit), page) +
         written(table, page);
}

/// The ops that differ most. `unit` is the baseline's, in which the whole page is.
std::string ops_table(const pipeloom::Run& b, const study::OpComparison& ops, TimeUnit unit,
                      const ComparePage& page) {
  if (ops.largest.empty()) return {};
  Table table(
      {{"op", Align::Left}, {"rank", Align::Right}, {"start", Align::Right}, {"duration", Align::Right}});
  for (std::size_t i = 0; i < std::min(page.most, ops.largest.size()); ++i) {
    const study::OpDifference& difference = ops.largest[i];
    table.add_row({to_text(b.timeline.schedule->ops()[difference.in_b]),
                   fmt::format("{}", b.timeline.schedule->rank_of_op(difference.in_b).value()),
                   signed_ticks(difference.start, unit), signed_ticks(difference.duration, unit)});
  }
  return heading(b.title + ": ops that differ most" + unit_text(", in ", unit), page) + written(table, page);
}

/// The causes of the difference between a prediction and the measured run.
std::string explanation_table(const pipeloom::Run& a, const pipeloom::Run& b, const ComparePage& page) {
  const auto found = study::explain::explanation_between(a, b);
  if (!found || found->causes.empty()) return {};
  std::string text = heading(
      fmt::format("{}: causes of the difference; {}", b.title, study::explain::headline_of(*found)), page);
  text += written(study::explain::causes_table(*found), page);
  const auto add_line = [&](std::string_view line) {
    text += (page.markdown ? "\n" : "") + std::string(line) + "\n";
  };
  for (const std::string& line : study::explain::lines_below(*found)) add_line(line);
  for (const std::string& warning : found->warnings) add_line(warning);
  return text;
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

}  // namespace

std::string written(const Table& table, const ComparePage& page) {
  return page.markdown ? table.markdown() : table.text(page.colour);
}

std::string heading(std::string_view text, const ComparePage& page) {
  return page.markdown ? fmt::format("\n**{}**\n\n", text) : fmt::format("\n{}\n", text);
}

std::string runs_page(std::span<const pipeloom::Run* const> runs, const ComparePage& page) {
  std::string said;
  std::string details;
  for (std::size_t run = 1; run < runs.size(); ++run) {
    const auto ops = study::compare_ops(runs[0]->timeline, runs[run]->timeline, 0, 0);
    for (const std::string& line :
         study::remarks(*runs[0], *runs[run], ops, {runs[0]->title, runs[run]->title})) {
      if (page.markdown) said += "- ";
      if (runs.size() > 2) said += runs[run]->title + ": ";
      said += line + "\n";
    }
    if (!study::same_clock(runs[0]->timeline, runs[run]->timeline)) continue;
    details += explanation_table(*runs[0], *runs[run], page);
    details += causes_table(*runs[0], *runs[run], page);
    details += ops_table(*runs[run], ops, runs[0]->timeline.unit, page);
  }
  return said + "\n" + metrics_table(runs, page) + roots_lines(runs, page) + details;
}

std::string runs_json(std::span<const pipeloom::Run* const> runs, std::span<const MetricRow> rows,
                      std::span<const RunVerdict> verdicts) {
  return io::written_json(io::kReportStyle,
                          [&](io::JsonWriter& out) { write_runs(out, runs, rows, verdicts); }) +
         "\n";
}

}  // namespace pipeloom::cli
