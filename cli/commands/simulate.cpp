// pipeloom simulate [CONFIG]: one run, as a table, a chart, a report.

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/options.hpp"
#include "cli/pages/picture_options.hpp"
#include "cli/pages/scenario_options.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/tracks/marks.hpp"
#include "study/compare/compare_rule.hpp"
#include "study/pages/run_page.hpp"
#include "study/report/report.hpp"
#include "study/report/run_tables.hpp"
#include "study/text/at_place.hpp"

namespace pipeloom::cli::commands {
namespace {

struct SimulateOptions {
  InputOptions input;
  OutputOptions output;
  std::optional<std::string> report_file;
  PrintOptions print;
  bool force = false;
  bool chart = false;
  std::vector<std::string> include;
  std::vector<std::string> fail_if;
  ScenarioOptions scenarios;

  /// The report goes to standard output, which then holds nothing else.
  [[nodiscard]] bool report_on_stdout() const { return print.is("json") || report_file == "-"; }
  [[nodiscard]] bool report_in_file() const { return report_file && report_file != "-"; }
};

constexpr const char* kSimulateFooter =
    "\nThe table goes to standard output, warnings and errors to standard error. Exit codes: 0 fine, 1 over "
    "the memory\n"
    "limit or a --fail-if holds, 2 wrong input, 3 the disk failed.\n\n"
    "Examples:\n"
    "  pipeloom simulate --schedule dualpipe-v --ranks 4 --microbatches 10 --chart\n"
    "  pipeloom simulate run.json --set costs.forward=1.5 --set memory.limit_bytes=60e9 -o report.json\n"
    "  pipeloom simulate torch_schedule.csv --json";

void add_options(OptionList& list, SimulateOptions& options) {
  list.set_footer(kSimulateFooter);
  list.positional("CONFIG", options.input.file, "FILE",
                  "Configuration or schedule file, or a schedule's name; - is standard input");
  add_shape_options(list, options.input);
  add_value_options(list, options.input);
  list.flag("--chart", options.chart, "Draw the timeline in the terminal");
  list.option("-o,--output", options.report_file, "FILE",
              "Write the report (JSON) to a file; - is standard output");
  add_page_options(list, options.print,
                   "What is printed: the table, the report as JSON, or the table's page");
  list.option("--include", options.include, "orders|timeline",
              "Put these into the report too, separated by commas")
      .separated_by(',');
  list.option("--fail-if", options.fail_if, "RULE",
              "End with 1 if this holds: 'bubble_ratio>0.2', 'makespan >= 40'; repeatable")
      .repeatable();
  add_scenario_options(list, options.scenarios);
  list.flag("--force", options.force, "Overwrite an existing report");
  add_output_options(list, options.output);
}

study::ReportParts parts_of(const SimulateOptions& options) {
  study::ReportParts parts;
  for (const std::string& name : options.include) {
    require_choice("--include", name, {"orders", "timeline"});
    (name == "orders" ? parts.orders : parts.timeline) = true;
  }
  if (!options.include.empty() && !options.report_on_stdout() && !options.report_in_file())
    throw InputError(Where{"--include"}, "there is no report to include this in; add --json or -o FILE");
  return parts;
}

/// The answer for people: the tables unless --quiet, the chart if asked for.
study::page::Page answer_of(const pipeloom::Run& run, const study::ReportParts& parts,
                            const SimulateOptions& options) {
  const bool everything = options.output.verbose;
  study::page::Page answer;
  if (!options.output.quiet) answer = study::page::run_answer(run, parts.scenarios, everything);
  if (options.chart) {
    const Screen screen = options.output.screen();
    answer.sections.push_back(
        {"timeline", "", {chart_of_letters(run.timeline, options.print, screen, everything)}});
  }
  return answer;
}

/// Says which rules the run breaks. True if there are any.
bool tell_broken(const pipeloom::Run& run, const std::vector<study::CompareRule>& rules) {
  bool any = false;
  for (const study::CompareRule& rule : rules) {
    if (!study::breaks(rule, run)) continue;
    say(fmt::format("error: {}\n", rule.text));
    any = true;
  }
  return any;
}

ExitCode run_simulate(const SimulateOptions& options) {
  study::ReportParts parts = parts_of(options);
  std::vector<study::CompareRule> rules;
  for (const std::string& text : options.fail_if)
    rules.push_back(study::parse_compare_rule(text, Where{"--fail-if"}));
  if (options.report_in_file()) require_free(*options.report_file, options.force);

  const Input input = read_input(options.input);
  pipeloom::Limits limits = options.input.limits();
  limits.with_metrics =
      options.report_in_file() || options.report_on_stdout() || !options.output.quiet || !rules.empty();
  limits.with_all_steps = options.chart || parts.timeline;
  limits.totals_only = !options.chart && !parts.timeline && !parts.orders && !options.scenarios.scenarios;
  if (options.chart) limits.bytes_per_time = tracks::kIndexBytesPerEntry;
  if (parts.timeline) limits.text_per_time = io::kReportBytesPerOp;
  pipeloom::Run run = study::at_place(input.name, [&] { return evaluate(input, limits); });
  if (!rules.empty()) run.idle = study::idle_spans_of(run);
  options.output.warn(run.warnings);
  const auto scenarios = study::at_place(input.name, [&] { return scenarios_of(options.scenarios, run); });
  if (scenarios) parts.scenarios = &*scenarios;
  const auto write = [&](std::ostream& out) { study::write_report(out, run, parts); };
  if (options.report_in_file()) io::write_file(*options.report_file, overwrite_if(options.force), write);
  if (options.report_on_stdout())
    io::write_file("-", io::Overwrite::Yes, write);
  else
    print_page(options.print, options.output, answer_of(run, parts, options));
  const bool broken = tell_broken(run, rules);
  if (!run.over_limit) return broken ? ExitCode::AnswerIsNo : ExitCode::Ok;
  say("error: " + study::over_limit_text(*run.over_limit, *run.memory) + '\n');
  return ExitCode::AnswerIsNo;
}

}  // namespace

Run simulate(OptionList& list) {
  auto options = std::make_shared<SimulateOptions>();
  add_options(list, *options);
  return [options] { return run_simulate(*options); };
}

}  // namespace pipeloom::cli::commands
