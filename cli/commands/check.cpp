// pipeloom check SUITE: does everything still come out as the baseline says?

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "cli/pages/gate_outputs.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/json/json_writer.hpp"
#include "study/suite/case_verdict.hpp"
#include "study/suite/lint_rules.hpp"
#include "study/suite/suite.hpp"

namespace pipeloom::cli::commands {
namespace {

struct SuiteOptions {
  std::string suite;
  study::CheckOptions check;
  std::optional<std::string> max_memory;
  OutputOptions output;
  GateOutputs gate;
  PrintOptions print;
  bool update = false;
};

Table change_table(const std::vector<study::Change>& changes) {
  Table table({{"case", Align::Left},
               {"what", Align::Left},
               {"before", Align::Right},
               {"", Align::Left},
               {"after", Align::Right},
               {"change", Align::Right},
               {"", Align::Left}});
  for (const study::Change& change : changes)
    table.add_row({change.case_name, change.what, change.before, "->", change.after,
                   study::gate::relative_change(change), study::gate::verdict_text(change)});
  return table;
}

std::string page(const study::CheckResult& result, const Screen& screen) {
  std::string out = result.changes.empty() ? "" : change_table(result.changes).text(screen.has_colour());
  for (const std::string& line : result.unexpected) out += line + '\n';
  return out;
}

/// "8 changes, 4 worse, 2 better".
std::string counted(const study::CheckResult& result) {
  std::string out = count_text(result.changes.size(), "change");
  for (const study::Verdict verdict : {study::Verdict::Worse, study::Verdict::Better}) {
    const auto count = std::count_if(result.changes.begin(), result.changes.end(),
                                     [verdict](const auto& change) { return change.verdict == verdict; });
    if (count > 0) out += fmt::format(", {} {}", count, study::name_of(verdict));
  }
  if (!result.unexpected.empty()) out += fmt::format(", {} not as expected", result.unexpected.size());
  return out;
}

std::string verdict(const study::CheckResult& result) {
  const std::string cases = count_text(result.results.size(), "case");
  const bool same = result.changes.empty() && result.unexpected.empty();
  if (result.updated)
    return fmt::format("{}; {} written, {}\n", cases, shortened(result.baseline_path, 200),
                       same ? "nothing changed" : counted(result));
  return same ? fmt::format("{}: all as in {}\n", cases, shortened(result.baseline_path, 200))
              : fmt::format("{}: {}\n", cases, counted(result));
}

/// study/report/schemas/check.json
void write_check(io::JsonWriter& out, const study::CheckResult& result) {
  out.object().line(2).member("schema_version", 1);
  out.line(2).member("suite", result.suite_path).line(2).member("baseline", result.baseline_path);
  out.line(2).member("passed", result.passed()).line(2).member("updated", result.updated);
  out.line(2).key("cases").array();
  for (const study::CaseResult& one : result.results)
    out.line(4)
        .object()
        .member("case", one.name)
        .member("status", one.status)
        .member("expected", one.expect)
        .member("error", one.error)
        .member("over_limits", one.over_limits)
        .close();
  out.close(2).line(2).key("changes").array();
  for (const study::Change& change : result.changes)
    out.line(4)
        .object()
        .member("case", change.case_name)
        .member("what", change.what)
        .member("before", change.before)
        .member("after", change.after)
        .member("verdict", study::name_of(change.verdict))
        .close();
  out.close(2).close(0);
}

std::string as_json(const study::CheckResult& result) {
  return io::written_json(io::kReportStyle, [&](io::JsonWriter& out) { write_check(out, result); }) + "\n";
}

/// Runs the suite. If that is impossible, writes a result that says why, which readers of the outputs need too, and rethrows.
study::CheckResult run_suite(const SuiteOptions& options, const study::CheckOptions& check) {
  try {
    const study::Suite suite = study::read_suite(options.suite);
    return options.update ? study::update_baseline(suite, check) : study::check(suite, check);
  } catch (const Error& error) {
    study::CheckResult result;
    result.suite_path = options.suite;
    result.failure = {std::string(study::gate::rule_of(error)), error.what(), error.where()};
    try {
      write_outputs(options.gate, result);
    } catch (const SystemError& lost) {
      say(lost.line() + '\n');  // the suite's own error is the one that matters
    }
    throw;
  }
}

ExitCode run_check(const SuiteOptions& options) {
  require_distinct(options.gate);
  if ((options.gate.take_stdout() || options.gate.github) && options.print.is("json"))
    throw InputError(Where{"--json"}, "another output goes to standard output too; give that one a file");
  study::CheckOptions check = options.check;
  if (options.max_memory) check.limits.max_memory = parse_size(*options.max_memory, "--max-memory");
  const study::CheckResult result = run_suite(options, check);
  const std::string text = options.print.is("json") ? as_json(result)
                                                    : page(result, options.output.screen()) +
                                                          (options.output.quiet ? "" : verdict(result));
  if (options.gate.take_stdout())
    print_beside(text);
  else
    print(text);
  write_outputs(options.gate, result);
  if (result.any_failed()) {
    say("error: not every case could be run; the others were\n");
    return ExitCode::BadInput;
  }
  const bool fine = result.updated ? result.unexpected.empty() : result.passed();
  if (!result.changes.empty() && !result.updated)
    say("error: the suite differs from its baseline; if that is what you want, run it with --update\n");
  return fine ? ExitCode::Ok : ExitCode::AnswerIsNo;
}

}  // namespace

Run check(OptionList& list) {
  auto options = std::make_shared<SuiteOptions>();
  list.set_footer(
      "\nExit codes: 0 all as in the baseline, 1 something changed or is beyond a limit, 2 wrong input: also "
      "if\n"
      "a case could not be run; the others still are.");
  list.positional("SUITE", options->suite, "FILE", "Suite file").required();
  list.flag("--update", options->update, "Write the baseline anew and say what changed");
  list.option("--only", options->check.only, "GLOB",
              "Only cases whose name matches; * and ? stand for any text and any character");
  list.option("--max-memory", options->max_memory, "SIZE",
              "Refuse runs that need more, such as 8GiB; default 3/4 of this machine's memory");
  add_print_options(list, options->print, {"table", "json"},
                    "What is printed: what changed, or that and every case as JSON");
  add_gate_options(list, options->gate);
  add_output_options(list, options->output);
  return [options] { return run_check(*options); };
}

}  // namespace pipeloom::cli::commands
