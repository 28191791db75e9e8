// pipeloom validate FILE: everything that is wrong with a configuration or a schedule.

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <span>

#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>
#include "cli/command.hpp"
#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "cli/pages/gate_outputs.hpp"
#include "cli/pages/torch_verdict.hpp"
#include "sim/io/formats/schedule_json.hpp"
#include "sim/io/links/link.hpp"
#include "study/report/hang_page.hpp"
#include "study/report/run_tables.hpp"
#include "study/report/trace_page.hpp"
#include "study/suite/lint_rules.hpp"
#include "study/targets/verdict.hpp"
#include "study/validate/findings.hpp"

namespace pipeloom::cli::commands {
namespace {

using study::Findings;

struct ValidateOptions {
  InputOptions input;
  OutputOptions output;
  LoadChoices load;
  std::optional<std::string> sarif;
  PrintOptions print;
};

std::string line_of(const io::SchedulePlaces& places, const Diagnostic& diagnostic) {
  return fmt::format("{}: error: {} [{}]\n", places.of(diagnostic).text(), diagnostic.message,
                     diagnostic.code);
}

std::string verdict(const Findings& findings) {
  const Schedule& s = *findings.schedule;
  const std::string shape = fmt::format("p={}, m={}, stages={}; {}", s.ranks(), s.microbatches(), s.stages(),
                                        count_text(s.num_ops(), "op"));
  if (findings.problems() == 0) return fmt::format("legal: {}\n", shape);
  const bool only_torch = findings.diagnostics.empty() && !findings.message_hang && findings.torch;
  return fmt::format("illegal{}: {}; {}\n", only_torch ? findings.torch->where_wrong() : "", shape,
                     count_text(findings.problems(), "problem"));
}

/// A file of PyTorch's that we cannot read gets its verdict before our error.
Input read_or_explain(const ValidateOptions& options) {
  try {
    return read_input(options.input);
  } catch (const InputError&) {
    if (!options.print.is("json") && options.sarif != "-") print(torch_page_of_unreadable(options.input));
    throw;
  }
}

/// The framework that --target names, or null.
const study::Target* asked_target(const ValidateOptions& options) {
  return options.load.target ? &study::target_named(*options.load.target) : nullptr;
}

Findings examine(const ValidateOptions& options) {
  if (study::is_trace_input(options.input)) {
    (void)examine_torch({}, "", {}, options.load);
    return study::examine_trace(study::read_trace_input(options.input), options.input.file.value_or(""),
                                asked_target(options));
  }
  const Input input = read_or_explain(options);
  if (input.schedule)
    return study::examine_schedule(input, examine_torch(input.text, input.name, input.format, options.load),
                                   asked_target(options));
  (void)examine_torch({}, input.name, {}, options.load);
  return study::examine_configuration(input, options.input.limits(), asked_target(options));
}

std::string as_page(const Findings& findings, const ValidateOptions& options) {
  std::string out;
  if (!findings.diagnostics.empty()) {
    const io::SchedulePlaces places(findings.text, findings.name);
    for (const Diagnostic& diagnostic : findings.diagnostics) out += line_of(places, diagnostic);
  }
  if (findings.message_hang) out += study::message_hang_page(*findings.message_hang, options.output.verbose);
  if (findings.hangs()) out += study::hang_page(*findings.schedule, options.output.verbose);
  if (findings.torch) out += study::torch_problems(*findings.torch, findings.text);
  if (findings.torch && findings.torch->hangs())
    out += study::lowered_hang_page(findings.torch->lists, findings.torch->verdict.rank_of_stage,
                                    options.output.verbose);
  if (findings.trace) out += study::trace_page(*findings.trace);
  if (!options.output.quiet) out += verdict(findings);
  if (findings.torch && !(options.output.quiet && findings.torch->ok()))
    out += study::torch_page(*findings.torch, options.output.verbose);
  if (options.output.verbose && findings.diagnostics.empty()) out += study::slots_page(*findings.schedule);
  if (findings.verdict)
    out += study::to_run_page(std::span(&*findings.verdict, 1), options.output.screen().width);
  return out;
}

/// A place in a file for programs that show findings beside its lines: that of an option is the file that it was given with.
study::Finding placed(study::Finding finding, const ValidateOptions& options) {
  if (finding.where.line <= 0) finding.where = Where{io::shown_name(options.input.file.value_or(""))};
  if (options.input.file == "-") finding.where.file.clear();
  return finding;
}

void write_findings(const Findings& findings, const ValidateOptions& options) {
  std::vector<study::Finding> out;
  if (!findings.diagnostics.empty()) {
    const io::SchedulePlaces places(findings.text, findings.name);
    for (const Diagnostic& found : findings.diagnostics)
      out.push_back({found.code, found.message, places.of(found)});
  }
  if (const auto& hang = findings.message_hang)
    out.push_back({std::string(study::gate::rule_of(*hang)), hang->what(), hang->where()});
  if (findings.torch) {
    const auto lints = study::torch_lint(*findings.torch, findings.text);
    out.insert(out.end(), lints.begin(), lints.end());
    if (const torch::Verdict& verdict = findings.torch->verdict; !verdict.ok())
      out.push_back({"torch-refuses", fmt::format("{}: {}", verdict.exception, verdict.message), {}});
  }
  for (study::Finding& finding : out) finding = placed(std::move(finding), options);
  write_sarif(*options.sarif, out);
}

/// A file that is refused altogether is a finding too.
Findings examine_or_report(const ValidateOptions& options) {
  try {
    return examine(options);
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::BadInput) throw;
    // A reader stops at the first cell that it cannot take; here all of them are wanted.
    const std::vector<InputError> cells = torch_cell_errors(options.input);
    std::vector<study::Finding> found;
    for (const InputError& cell : cells)
      found.push_back(placed({std::string(study::gate::rule_of(cell)), cell.what(), cell.where()}, options));
    if (found.empty())
      found.push_back(
          placed({std::string(study::gate::rule_of(error)), error.what(), error.where()}, options));
    if (options.sarif) write_sarif(*options.sarif, found);
    if (cells.empty()) throw;
    for (std::size_t i = 0; i + 1 < cells.size(); ++i) say(cells[i].line() + '\n');
    throw InputError(cells.back());
  }
}

ExitCode run_validate(ValidateOptions options) {
  options.print.require_free_file();
  if (options.sarif && options.sarif->empty())
    throw InputError(Where{"--sarif"}, "the name of the file is empty; name a file, or -");
  // Input that can be read only once is kept: after an error it is looked at again.
  if (options.input.file == "-") options.input.text = io::read_file("-");
  const Findings findings = examine_or_report(options);
  options.output.warn(findings.warnings);
  if (options.sarif == "-") {
    const std::string json = study::findings_json(findings);
    write_json_file(options.print, json);
    print_beside(options.print.is("json") ? json : as_page(findings, options));
  } else {
    print_answer(
        options.print, false, [&] { return study::findings_json(findings); },
        [&] { return as_page(findings, options); });
  }
  if (options.sarif) write_findings(findings, options);
  return findings.ok() ? ExitCode::Ok : ExitCode::AnswerIsNo;
}

}  // namespace

Run validate(OptionList& list) {
  auto options = std::make_shared<ValidateOptions>();
  list.set_footer(
      "\nExit codes: 0 legal, 1 illegal or hanging, or not for the target, 2 unreadable or parameters that "
      "the schedule refuses.");
  list.positional("FILE", options->input.file, "FILE",
                  "Configuration, schedule file or trace of a real run, also its folder; - is standard input")
      .required();
  list.option("--from", options->input.from, "FORMAT",
              "Format of a schedule file or trace; found by content if left out");
  add_mapping_option(list, options->input);
  add_load_options(list, options->load);
  add_value_options(list, options->input);
  add_print_options(list, options->print, {"table", "json"},
                    "What is printed: a page, or the diagnostics as JSON");
  add_json_file_options(list, options->print);
  add_sarif_option(list, options->sarif);
  add_output_options(list, options->output);
  return [options] { return run_validate(*options); };
}

}  // namespace pipeloom::cli::commands
