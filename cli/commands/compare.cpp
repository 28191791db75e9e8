// pipeloom compare A B [C ...]: metrics side by side, ops that differ, and why; a gate with --fail-if.

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <iostream>
#include <list>

#include "cli/command.hpp"
#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "cli/table.hpp"
#include "sim/io/json_text.hpp"
#include "sim/text.hpp"
#include "study/compare_rule.hpp"
#include "study/loaded_run.hpp"

namespace pipeloom::cli::commands {
namespace {

struct CompareOptions {
  InputOptions input;  ///< values on top of every simulated run
  OutputOptions output;
  std::vector<std::string> files;
  std::vector<std::string> fail_if;
  bool json = false;
};

std::string value_text(const study::MetricRow& row, double value, TimeUnit unit) {
  if (row.unit == "time_unit") return format_ticks(static_cast<Ticks>(value), unit);
  return row.unit == "ratio" ? ratio_text(value) : fmt::format("{}", value);
}

std::string metrics_page(const std::vector<study::ComparedRun>& runs,
                         const std::vector<study::MetricRow>& rows, const Screen& screen) {
  std::vector<Column> columns = {{"", Align::Left}};
  for (std::size_t run = 0; run < runs.size(); ++run) {
    columns.push_back({runs[run].title, Align::Right});
    if (run > 0) columns.push_back({"change", Align::Right});
  }
  Table table(columns);
  for (const study::MetricRow& row : rows) {
    std::vector<std::string> cells = {std::string(row.name)};
    for (std::size_t run = 0; run < runs.size(); ++run) {
      cells.push_back(row.values[run] ? value_text(row, *row.values[run], runs[0].timeline->unit) : "-");
      const auto relative = run > 0 ? row.relative(run) : std::nullopt;
      if (run > 0) cells.push_back(relative ? fmt::format("{:+.2f}%", 100 * *relative) : "");
    }
    table.add_row(cells);
  }
  return table.text(screen.has_colour());
}

/// The ops that differ most, `most` of them.
std::string ops_page(const study::ComparedRun& b, const study::OpComparison& ops, std::size_t most) {
  if (ops.largest.empty()) return {};
  Table table(
      {{"op", Align::Left}, {"rank", Align::Right}, {"start", Align::Right}, {"duration", Align::Right}});
  const auto change = [&](Ticks ticks) {
    return fmt::format("{}{}", ticks > 0 ? "+" : "", format_ticks(ticks, b.timeline->unit));
  };
  for (std::size_t i = 0; i < std::min(most, ops.largest.size()); ++i) {
    const study::OpDifference& difference = ops.largest[i];
    table.add_row({to_text(b.timeline->schedule->ops()[difference.in_b]),
                   fmt::format("{}", b.timeline->schedule->rank_of_op(difference.in_b).value()),
                   change(difference.start), change(difference.duration)});
  }
  return "\n" + b.title + ": ops that differ most\n" + table.text();
}

std::string page(const CompareOptions& options, const std::vector<study::ComparedRun>& runs,
                 const std::vector<study::MetricRow>& rows) {
  std::string said;
  std::string ops_text;
  for (std::size_t run = 1; run < runs.size(); ++run) {
    const auto ops = study::compare_ops(*runs[0].timeline, *runs[run].timeline, 0, 0);
    for (const std::string& line : study::remarks(runs[0], runs[run], ops)) {
      if (runs.size() > 2) said += runs[run].title + ": ";
      said += line + "\n";
    }
    if (study::same_clock(*runs[0].timeline, *runs[run].timeline))
      ops_text += ops_page(runs[run], ops, options.output.verbose ? 100 : 5);
  }
  return said + "\n" + metrics_page(runs, rows, options.output.screen()) + ops_text;
}

std::string as_json(const std::vector<study::ComparedRun>& runs, const std::vector<study::MetricRow>& rows) {
  const TimeUnit unit = runs[0].timeline->unit;
  std::string out =
      fmt::format("{{\n  \"schema_version\": 1,\n  \"time_unit\": \"{}\",\n  \"runs\": [", name_of(unit));
  for (std::size_t run = 0; run < runs.size(); ++run) {
    if (run > 0) out += ", ";
    io::append_json_string(out, runs[run].title);
  }
  out += "],\n  \"metrics\": {";
  for (const study::MetricRow& row : rows) {
    out += fmt::format("{}\n    \"{}\": [", &row == rows.data() ? "" : ",", row.name);
    for (std::size_t run = 0; run < runs.size(); ++run) {
      if (run > 0) out += ", ";
      out += !row.values[run]          ? "null"
             : row.unit == "time_unit" ? format_ticks(static_cast<Ticks>(*row.values[run]), unit)
                                       : fmt::format("{}", *row.values[run]);
    }
    out += ']';
  }
  out += "\n  },\n  \"comparisons\": [";
  for (std::size_t run = 1; run < runs.size(); ++run) {
    const auto ops = study::compare_ops(*runs[0].timeline, *runs[run].timeline, 0, 0);
    out += fmt::format(
        "{}\n    {{\"run\": {}, \"matched\": {}, \"only_baseline\": {}, \"only_run\": {}, \"remarks\": [",
        run > 1 ? "," : "", run, ops.matched, ops.only_a, ops.only_b);
    const auto lines = study::remarks(runs[0], runs[run], ops);
    for (const std::string& line : lines) {
      if (&line != lines.data()) out += ", ";
      io::append_json_string(out, line);
    }
    out += "]}";
  }
  return out + "\n  ]\n}\n";
}

ExitCode judge(const std::vector<study::CompareRule>& rules, const std::vector<study::ComparedRun>& runs,
               const std::vector<study::MetricRow>& rows) {
  ExitCode code = ExitCode::Ok;
  for (const study::CompareRule& rule : rules)
    for (std::size_t run = 1; run < runs.size(); ++run) {
      if (!study::breaks(rule, rows, run, runs[0].timeline->unit)) continue;
      std::cerr << fmt::format("{}: error: {} against {}\n", runs[run].title, rule.text, runs[0].title);
      code = ExitCode::AnswerIsNo;
    }
  return code;
}

ExitCode run_compare(const CompareOptions& options) {
  std::vector<study::CompareRule> rules;
  for (const std::string& text : options.fail_if)
    rules.push_back(study::parse_compare_rule(text, Where{"--fail-if"}));
  if (options.files.size() < 2)
    throw InputError("there is one run only; name the baseline and at least one other");
  const std::list<study::LoadedRun> loaded =
      study::load_runs(options.files, options.input, options.input.limits());
  for (const study::LoadedRun& run : loaded)
    if (run.evaluation) options.output.warn(run.evaluation->warnings);
  const auto runs = study::compared(loaded);
  const auto rows = study::compare_metrics(runs);
  if (options.json)
    print(as_json(runs, rows));
  else if (!options.output.quiet)
    print(page(options, runs, rows));
  return judge(rules, runs, rows);
}

constexpr const char* kFooter =
    "\nThe first file is the baseline. Exit codes: 0 fine, 1 a --fail-if holds, 2 wrong input.\n\n"
    "Examples:\n"
    "  pipeloom compare 1f1b.json zb-h1.json\n"
    "  pipeloom compare simulated.json measured.jsonl --fail-if 'makespan>+5%'\n";

}  // namespace

Run compare(CLI::App& app) {
  auto options = std::make_shared<CompareOptions>();
  app.footer(kFooter);
  app.add_option("FILES", options->files,
                 "Configurations, schedule files, timelines, reports with a timeline")
      ->type_name("FILE")
      ->required()
      ->expected(2, 64);
  app.add_option("--fail-if", options->fail_if,
                 "End with 1 if this holds: 'makespan>+1%', 'idle>+3'; repeatable")
      ->type_name("RULE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--json", options->json, "The comparison as JSON");
  add_value_options(app, options->input);
  add_output_options(app, options->output);
  return [options] { return run_compare(*options); };
}

}  // namespace pipeloom::cli::commands
