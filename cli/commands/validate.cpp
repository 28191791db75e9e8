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
#include "schedules/generator.hpp"
#include "sim/io/formats/schedule_json.hpp"
#include "sim/io/json/json_writer.hpp"
#include "sim/io/links/link.hpp"
#include "study/report/hang_page.hpp"
#include "study/report/run_tables.hpp"
#include "study/report/trace_page.hpp"
#include "study/suite/lint_rules.hpp"
#include "study/targets/verdict.hpp"

namespace pipeloom::cli::commands {
namespace {

struct ValidateOptions {
  InputOptions input;
  OutputOptions output;
  LoadChoices load;
  std::optional<std::string> sarif;
  PrintOptions print;
};

/// The findings of one file.
struct Findings {
  std::string name;
  std::shared_ptr<const Schedule> schedule;
  std::vector<Diagnostic> diagnostics;
  std::vector<std::string> warnings;
  std::string text;
  /// Of PyTorch's files only.
  std::optional<study::TorchFindings> torch;
  /// Of a trace of a real run.
  std::optional<io::TraceRun> trace;
  /// Of a configuration whose messages hang.
  std::optional<study::MessageProblem> message_hang;
  /// Of the framework that --target names, where the order itself is legal.
  std::optional<study::TargetVerdict> verdict;

  [[nodiscard]] std::size_t problems() const {
    return diagnostics.size() + (torch ? torch->problems() : 0) + (message_hang ? 1 : 0);
  }
  [[nodiscard]] bool ok() const {
    return diagnostics.empty() && !message_hang && (!torch || torch->ok()) && (!verdict || verdict->taken());
  }
};

/// An op that is in no queue has no place in a queue.
bool has_slot(const Diagnostic& diagnostic) {
  return !diagnostic.code.starts_with("missing") && diagnostic.code != "empty";
}

std::string line_of(const io::SchedulePlaces& places, const Diagnostic& diagnostic) {
  return fmt::format("{}: error: {} [{}]\n", places.of(diagnostic).text(), diagnostic.message,
                     diagnostic.code);
}

bool hangs(const Findings& findings) {
  return std::any_of(findings.diagnostics.begin(), findings.diagnostics.end(),
                     [](const Diagnostic& diagnostic) { return diagnostic.code == "hang"; });
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

void write_diagnostic(io::JsonWriter& out, const Diagnostic& diagnostic) {
  out.object().member("code", diagnostic.code).member("rank", diagnostic.rank.value());
  if (has_slot(diagnostic)) out.member("slot", diagnostic.slot).key("op").quoted(diagnostic.op);
  out.member("message", diagnostic.message).close();
}

void write_verdict(io::JsonWriter& out, const Findings& findings) {
  const study::TargetVerdict& verdict = *findings.verdict;
  study::write_to_run(out, std::span(&verdict, 1));
  std::vector<study::NotTaken> not_taken;
  if (!verdict.taken()) not_taken.push_back({verdict.target, findings.name, verdict.reason});
  study::write_not_taken(out, not_taken);
}

void write_findings(io::JsonWriter& out, const Findings& findings) {
  const Schedule& s = *findings.schedule;
  out.object().line(2).member("schema_version", 1).line(2).member("file", findings.name);
  out.line(2).member("legal", findings.problems() == 0).line(2).member("ranks", s.ranks());
  out.member("stages", s.stages()).member("microbatches", s.microbatches()).member("num_ops", s.num_ops());
  out.line(2).key("diagnostics").array();
  for (const Diagnostic& diagnostic : findings.diagnostics) write_diagnostic(out.line(4), diagnostic);
  out.close(2);
  if (findings.trace) study::write_trace(out.line(2), *findings.trace);
  if (hangs(findings)) study::write_hang(out, s);
  if (findings.message_hang) study::write_message_hang(out, *findings.message_hang);
  if (findings.torch) study::write_torch(out, *findings.torch);
  if (findings.verdict) write_verdict(out, findings);
  out.close(0);
}

std::string as_json(const Findings& findings) {
  return io::written_json(io::kReportStyle, [&](io::JsonWriter& out) { write_findings(out, findings); }) +
         "\n";
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

/// A finding that PyTorch runs without harm is a warning.
void take_harmless(Findings& findings) {
  if (!findings.torch) return;
  const io::SchedulePlaces places(findings.text, findings.name);
  std::erase_if(findings.diagnostics, [&](const Diagnostic& diagnostic) {
    if (!findings.torch->is_harmless(diagnostic)) return false;
    findings.warnings.push_back(fmt::format("{}: {}; PyTorch runs it again without harm",
                                            places.of(diagnostic).text(), diagnostic.message));
    return true;
  });
}

/// The verdict of the framework that is asked for on a legal order.
std::optional<study::TargetVerdict> asked_verdict(const ValidateOptions& options,
                                                  study::Deployment deployment, const std::string& file) {
  if (!options.load.target) return std::nullopt;
  if (file.ends_with(".csv")) deployment.order_file = file;
  return study::verdict_of(study::target_named(*options.load.target), deployment);
}

/// The name in the registry of a configuration's schedule.
std::string registry_name(const std::string& schedule) {
  return schedule == io::kCustomSchedule ? schedule : schedules::find(schedule).generator->name;
}

/// The order of a trace is held against the rules as any other.
Findings examine_trace(const ValidateOptions& options) {
  Findings out;
  out.name = options.input.file.value_or("");
  out.trace = study::read_trace_input(options.input);
  out.schedule = out.trace->timeline.schedule;
  out.warnings = out.trace->warnings;
  out.diagnostics = validate(*out.schedule);
  if (out.diagnostics.empty())
    out.verdict = asked_verdict(
        options, {.schedule = std::string(io::kCustomSchedule), .order = out.schedule}, out.name);
  return out;
}

Findings examine(const ValidateOptions& options) {
  if (study::is_trace_input(options.input)) {
    (void)examine_torch({}, "", {}, options.load);
    return examine_trace(options);
  }
  const Input input = read_or_explain(options);
  Findings out;
  out.name = input.name;
  out.warnings = input.warnings;
  out.text = input.text;
  if (input.schedule) {
    out.schedule = input.schedule;
    out.diagnostics = validate(*input.schedule);
    out.torch = examine_torch(input.text, input.name, input.format, options.load);
    take_harmless(out);
    if (out.diagnostics.empty())
      out.verdict = asked_verdict(
          options, {.schedule = std::string(io::kCustomSchedule), .order = out.schedule}, input.name);
    return out;
  }
  (void)examine_torch({}, input.name, {}, options.load);
  // The proof that a configuration can run is to run it.
  pipeloom::Limits limits = options.input.limits();
  limits.with_metrics = false;
  limits.with_all_steps = false;
  pipeloom::Run run;
  try {
    run = evaluate(input, limits);
  } catch (const study::MessageProblem& hang) {
    io::EffectiveConfig effective;
    out.schedule = study::make_schedule(input.config, limits, effective);
    out.message_hang = hang;
    return out;
  }
  out.schedule = run.schedule;
  out.warnings = run.warnings;
  if (run.over_limit) out.warnings.push_back(study::over_limit_text(*run.over_limit, *run.memory));
  const Schedule& s = *out.schedule;
  const std::string refusal =
      torch::class_refusal(input.config.schedule, s.ranks(), s.placement().chunks(), s.microbatches());
  if (!refusal.empty()) out.warnings.push_back(refusal);
  const std::string name = registry_name(input.config.schedule);
  out.verdict =
      asked_verdict(options, study::deployment_of(run, input.config, name), input.config.options.file);
  return out;
}

std::string as_page(const Findings& findings, const ValidateOptions& options) {
  std::string out;
  if (!findings.diagnostics.empty()) {
    const io::SchedulePlaces places(findings.text, findings.name);
    for (const Diagnostic& diagnostic : findings.diagnostics) out += line_of(places, diagnostic);
  }
  if (findings.message_hang) out += study::message_hang_page(*findings.message_hang, options.output.verbose);
  if (hangs(findings)) out += study::hang_page(*findings.schedule, options.output.verbose);
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
    const std::string json = as_json(findings);
    write_json_file(options.print, json);
    print_beside(options.print.is("json") ? json : as_page(findings, options));
  } else {
    print_answer(
        options.print, false, [&] { return as_json(findings); }, [&] { return as_page(findings, options); });
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
