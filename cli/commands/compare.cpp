// pipeloom compare A B [C ...]: metrics side by side, ops that differ, and why; a gate with --fail-if.

#include <fmt/format.h>

#include <algorithm>
#include <list>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "cli/pages/compare_json.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/links/link.hpp"
#include "study/pages/run_page.hpp"
#include "study/run/input.hpp"

namespace pipeloom::cli::commands {
namespace {

using study::page::changed_point;
using study::page::ComparedResult;

struct CompareOptions {
  InputOptions input;  ///< values on top of every simulated run
  OutputOptions output;
  std::vector<std::string> files;
  std::vector<std::string> fail_if;
  PrintOptions print;
};

/// Ops, causes and points that are named, and with -v.
constexpr std::size_t kFew = 5;
constexpr std::size_t kMost = 100;

std::size_t most_of(const CompareOptions& options) {
  return options.output.verbose ? kMost : kFew;
}

/// Runs simulated or read, against the first.
ExitCode compare_runs(const CompareOptions& options, const std::vector<study::CompareRule>& rules) {
  const std::list<pipeloom::Run> loaded =
      study::load_runs(options.files, options.input, options.input.limits());
  if (loaded.size() < 2 && io::names_link(options.files.front()))
    throw InputError(Where{std::string(io::kLinkName)}, "this link holds one run only; name another run too");
  if (loaded.size() < 2)
    throw InputError(
        Where{options.files.front()},
        "all files are of one trace, as a folder's files of its ranks are; name the other run too");
  std::vector<const pipeloom::Run*> runs;
  for (const pipeloom::Run& run : loaded) {
    options.output.warn(run.warnings);
    runs.push_back(&run);
  }
  const auto rows = study::compare_all_metrics(runs);
  std::vector<RunVerdict> verdicts;
  for (const study::CompareRule& rule : rules)
    for (std::size_t run = 1; run < runs.size(); ++run)
      verdicts.push_back({rule.text, run, study::breaks(rule, rows, run, runs[0]->timeline.unit)});
  print_answer(
      options.print, options.output, [&] { return runs_json(runs, rows, verdicts); },
      [&] { return study::page::compare_answer(runs, most_of(options)); });
  ExitCode code = ExitCode::Ok;
  for (const RunVerdict& verdict : verdicts) {
    if (!verdict.holds) continue;
    say(fmt::format("{}: error: {} against {}\n", runs[verdict.run]->title, verdict.rule, runs[0]->title));
    code = ExitCode::AnswerIsNo;
  }
  return code;
}

/// Prints a line for each rule of --fail-if that the result breaks. False if it breaks none.
bool tell_failures(const CompareOptions& options, const std::vector<study::CompareRule>& rules,
                   const ComparedResult& result) {
  const std::string baseline = shortened(options.files.front(), 200);
  bool failed = false;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const sweep::RuleVerdict& verdict = result.verdicts[i];
    if (verdict.broken == 0) continue;
    failed = true;
    say(fmt::format("{}: error: {} against {} at {}; most at {}\n", result.title, verdict.rule, baseline,
                    count_text(verdict.broken, "point"),
                    changed_point(result, rules[i].metric, *verdict.worst)));
  }
  if (!rules.empty() && result.lost > 0) {
    failed = true;
    say(fmt::format("{}: error: {} that {} ok in {} {} not any more\n", result.title,
                    count_text(result.lost, "point"), result.lost == 1 ? "was" : "were", baseline,
                    result.lost == 1 ? "is" : "are"));
  }
  return failed;
}

/// Results of sweeps of one grid, against the first.
ExitCode compare_results(const CompareOptions& options, const std::vector<study::CompareRule>& rules) {
  const sweep::ResultTable baseline = sweep::ResultTable::read(options.files.front());
  std::list<sweep::ResultTable> tables;
  std::vector<ComparedResult> results;
  for (std::size_t i = 1; i < options.files.size(); ++i) {
    const sweep::ResultTable& table = tables.emplace_back(sweep::ResultTable::read(options.files[i]));
    const auto pairs = same_points(baseline, table, Where{options.files[i]});
    ComparedResult& result = results.emplace_back();
    result.title = shortened(options.files[i], 200);
    result.before = &baseline;
    result.after = &table;
    result.comparison = sweep::compare_results(baseline, table, pairs, most_of(options));
    for (const study::CompareRule& rule : rules)
      result.verdicts.push_back(sweep::judge(rule, baseline, table, pairs));
    result.lost = lost_points(baseline, table, pairs).size();
  }
  print_answer(
      options.print, options.output, [&] { return results_json(options.files.front(), results); },
      [&] { return study::page::results_answer(options.files.front(), results, most_of(options)); });
  bool failed = false;
  for (const ComparedResult& result : results) failed = tell_failures(options, rules, result) || failed;
  return failed ? ExitCode::AnswerIsNo : ExitCode::Ok;
}

ExitCode run_compare(const CompareOptions& options) {
  std::vector<study::CompareRule> rules;
  for (const std::string& text : options.fail_if)
    rules.push_back(study::parse_compare_rule(text, Where{"--fail-if"}));
  const bool may_hold_two = options.files.size() == 1 && io::names_link(options.files.front());
  if (options.files.size() < 2 && !may_hold_two)
    throw InputError(Where{options.files.empty() ? "" : options.files.front()},
                     "there is one run only; name the baseline and at least one other");
  const auto results = std::count_if(options.files.begin(), options.files.end(), sweep::is_result_file);
  if (results == 0) return compare_runs(options, rules);
  if (static_cast<std::size_t>(results) != options.files.size())
    throw InputError(
        Where{*std::find_if_not(options.files.begin(), options.files.end(), sweep::is_result_file)},
        "is no result of a sweep, and others are: they do not compare; name files of one kind");
  return compare_results(options, rules);
}

constexpr const char* kCompareFooter =
    "\nThe first file is the baseline. Results of sweeps of one grid are compared point by point; a "
    "--fail-if then\n"
    "asks every point, and a point that has no answer any more fails too. Exit codes: 0 fine, 1 a --fail-if\n"
    "holds, 2 wrong input.\n\n"
    "Examples:\n"
    "  pipeloom compare 1f1b.json zb-h1.json\n"
    "  pipeloom compare mine.csv zbv\n"
    "  pipeloom compare simulated.json measured.jsonl --fail-if 'makespan>+5%'\n"
    "  pipeloom compare old.jsonl new.jsonl --fail-if 'makespan>+0%'\n";

}  // namespace

Run compare(OptionList& list) {
  auto options = std::make_shared<CompareOptions>();
  list.set_footer(kCompareFooter);
  list.positional("FILES", options->files, "FILE",
                  "Configurations, schedule files, timelines, reports with a timeline, schedules by name; or "
                  "results of sweeps")
      .required()
      .at_least(2);
  list.option("--fail-if", options->fail_if, "RULE",
              "End with 1 if this holds: 'makespan>+1%', 'idle.transfer>+3'; repeatable")
      .repeatable();
  add_page_options(list, options->print, "What is printed; Markdown is for pull requests");
  add_shape_options(list, options->input);
  add_trace_options(list, options->input);
  add_value_options(list, options->input);
  add_output_options(list, options->output);
  return [options] { return run_compare(*options); };
}

}  // namespace pipeloom::cli::commands
