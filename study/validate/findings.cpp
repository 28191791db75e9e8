#include "study/validate/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "sim/analysis/validate.hpp"
#include "sim/io/formats/schedule_json.hpp"
#include "sim/io/json/json_writer.hpp"
#include "study/report/run_tables.hpp"
#include "study/report/trace_page.hpp"

namespace pipeloom::study {
namespace {

/// An op that is in no queue has no place in a queue.
bool has_slot(const Diagnostic& diagnostic) {
  return !diagnostic.code.starts_with("missing") && diagnostic.code != "empty";
}

void write_diagnostic(io::JsonWriter& out, const Diagnostic& diagnostic) {
  out.object().member("code", diagnostic.code).member("rank", diagnostic.rank.value());
  if (has_slot(diagnostic)) out.member("slot", diagnostic.slot).key("op").quoted(diagnostic.op);
  out.member("message", diagnostic.message).close();
}

void write_verdict(io::JsonWriter& out, const Findings& findings) {
  const TargetVerdict& verdict = *findings.verdict;
  write_to_run(out, std::span(&verdict, 1));
  std::vector<NotTaken> not_taken;
  if (!verdict.taken()) not_taken.push_back({verdict.target, findings.name, verdict.reason});
  write_not_taken(out, not_taken);
}

void write_findings(io::JsonWriter& out, const Findings& findings) {
  const Schedule& s = *findings.schedule;
  out.object().line(2).member("schema_version", 1).line(2).member("file", findings.name);
  out.line(2).member("legal", findings.problems() == 0).line(2).member("ranks", s.ranks());
  out.member("stages", s.stages()).member("microbatches", s.microbatches()).member("num_ops", s.num_ops());
  out.line(2).key("diagnostics").array();
  for (const Diagnostic& diagnostic : findings.diagnostics) write_diagnostic(out.line(4), diagnostic);
  out.close(2);
  if (findings.trace) write_trace(out.line(2), *findings.trace);
  if (findings.hangs()) write_hang(out, s);
  if (findings.message_hang) write_message_hang(out, *findings.message_hang);
  if (findings.torch) write_torch(out, *findings.torch);
  if (findings.verdict) write_verdict(out, findings);
  out.close(0);
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

/// The verdict of the framework that is asked about on a legal order.
std::optional<TargetVerdict> asked_verdict(const Target* target, Deployment deployment,
                                           const std::string& file) {
  if (target == nullptr) return std::nullopt;
  if (file.ends_with(".csv")) deployment.order_file = file;
  return verdict_of(*target, deployment);
}

void take_verdict_on_order(Findings& findings, const Target* target) {
  if (findings.diagnostics.empty())
    findings.verdict = asked_verdict(
        target, {.schedule = std::string(io::kCustomSchedule), .order = findings.schedule}, findings.name);
}

}  // namespace

bool Findings::hangs() const {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& diagnostic) { return diagnostic.code == "hang"; });
}

Findings examine_trace(io::TraceRun trace, std::string name, const Target* target) {
  Findings out;
  out.name = std::move(name);
  out.trace = std::move(trace);
  out.schedule = out.trace->timeline.schedule;
  out.warnings = out.trace->warnings;
  out.diagnostics = validate(*out.schedule);
  take_verdict_on_order(out, target);
  return out;
}

Findings examine_schedule(const Input& input, std::optional<TorchFindings> torch, const Target* target) {
  Findings out;
  out.name = input.name;
  out.warnings = input.warnings;
  out.text = input.text;
  out.schedule = input.schedule;
  out.diagnostics = validate(*input.schedule);
  out.torch = std::move(torch);
  take_harmless(out);
  take_verdict_on_order(out, target);
  return out;
}

Findings examine_configuration(const Input& input, Limits limits, const Target* target) {
  limits.with_metrics = false;
  limits.with_all_steps = false;
  Findings out;
  out.name = input.name;
  out.text = input.text;
  Run run;
  try {
    run = evaluate(input, limits);
  } catch (const MessageProblem& hang) {
    io::EffectiveConfig effective;
    out.warnings = input.warnings;
    out.schedule = make_schedule(input.config, limits, effective);
    out.message_hang = hang;
    return out;
  }
  out.schedule = run.schedule;
  out.warnings = run.warnings;
  if (run.over_limit) out.warnings.push_back(over_limit_text(*run.over_limit, *run.memory));
  const Schedule& s = *out.schedule;
  const std::string refusal =
      torch::class_refusal(input.config.schedule, s.ranks(), s.placement().chunks(), s.microbatches());
  if (!refusal.empty()) out.warnings.push_back(refusal);
  const std::string name = registry_name(input.config.schedule);
  out.verdict = asked_verdict(target, deployment_of(run, input.config, name), input.config.options.file);
  return out;
}

std::string findings_json(const Findings& findings) {
  return io::written_json(io::kReportStyle, [&](io::JsonWriter& out) { write_findings(out, findings); }) +
         "\n";
}

}  // namespace pipeloom::study
