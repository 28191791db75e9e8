// Running suites.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/io/file.hpp"
#include "sim/io/formats.hpp"
#include "sim/validate.hpp"
#include "study/baseline.hpp"
#include "study/fingerprint.hpp"
#include "study/suite.hpp"

namespace pipeloom::study {
namespace {

/// A schedule file's content, or "" for a generated schedule.
std::string schedule_text(const SuiteCase& one) {
  return one.schedule_file.empty() ? std::string() : io::read_file(one.schedule_file);
}

std::string input_fingerprint(const SuiteCase& one, const std::string& schedule) {
  Fingerprint input;
  input.add(one.config.root().canonical_text());
  input.add(std::string_view("\n"));
  input.add(schedule);
  return input.text();
}

/// Fills everything that a finished evaluation says.
void record(const Evaluation& run, const std::vector<std::string>& metrics, CaseResult& out) {
  out.status = run.over_limit ? "over_memory" : "ok";
  for (const auto& name : metrics) out.metrics.emplace_back(name, find_metric(name).text(run));
  out.orders = fingerprint_of_orders(*run.schedule);
  out.timeline = fingerprint_of_times(run.timeline);
}

/// The status of a schedule that does not run.
std::string status_of(const std::vector<Diagnostic>& diagnostics) {
  const bool only_hangs =
      std::all_of(diagnostics.begin(), diagnostics.end(), [](const auto& d) { return d.code == "hang"; });
  return only_hangs ? "deadlock" : "illegal";
}

void evaluate_file(const SuiteCase& one, const std::string& text, const std::vector<std::string>& metrics,
                   const Limits& limits, CaseResult& out) {
  const auto schedule = io::read_schedule(text, one.schedule_file).schedule;
  if (const auto diagnostics = validate(*schedule); !diagnostics.empty()) {
    out.status = status_of(diagnostics);
    out.error = fmt::format("{}: {}", one.schedule_file, diagnostics.front().message);
    return;
  }
  const auto config = io::read_run_config(one.config.root(), io::Needs::CostsOnly);
  record(evaluate_schedule(schedule, std::filesystem::path(one.schedule_file).filename().string(), config,
                           limits),
         metrics, out);
}

bool selected(const SuiteCase& one, const CheckOptions& options) {
  return options.only.empty() || matches_glob(options.only, one.name);
}

std::vector<CaseResult> run_all(const Suite& suite, const CheckOptions& options) {
  std::vector<CaseResult> out;
  for (const SuiteCase& one : suite.cases)
    if (selected(one, options)) out.push_back(run_case(one, suite.metrics, options.limits));
  if (out.empty())
    throw InputError(Where{suite.path}, fmt::format("no case matches '{}'; the suite has {} cases",
                                                    options.only, suite.cases.size()));
  return out;
}

void collect_unexpected(const Suite& suite, CheckResult& result) {
  for (const CaseResult& row : result.results) {
    const auto one = std::find_if(suite.cases.begin(), suite.cases.end(),
                                  [&row](const SuiteCase& c) { return c.name == row.name; });
    if (one->expect == row.status) continue;
    result.unexpected.push_back(fmt::format("{}: expected {}, got {}{}{}", row.name, one->expect, row.status,
                                            row.error.empty() ? "" : ": ", row.error));
  }
}

/// Compares with the rows; a row whose case is gone counts only if all cases ran.
void collect_changes(const Suite& suite, const CheckOptions& options,
                     const std::map<std::string, CaseResult>& rows, CheckResult& result) {
  for (const CaseResult& after : result.results) {
    const auto before = rows.find(after.name);
    if (before == rows.end()) {
      result.changes.push_back({after.name, "case", "", after.status, Verdict::New});
      continue;
    }
    auto found = compare_rows(before->second, after, suite.tolerance);
    result.changes.insert(result.changes.end(), found.begin(), found.end());
  }
  if (!options.only.empty()) return;
  for (const auto& [name, row] : rows)
    if (std::none_of(suite.cases.begin(), suite.cases.end(),
                     [&name = name](const SuiteCase& c) { return c.name == name; }))
      result.changes.push_back({name, "case", row.status, "", Verdict::Gone});
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::Better:
      return "better";
    case Verdict::Worse:
      return "worse";
    case Verdict::Changed:
      return "changed";
    case Verdict::New:
      return "new";
    case Verdict::Gone:
      return "gone";
  }
  return "";
}

CaseResult run_case(const SuiteCase& one, const std::vector<std::string>& metrics, const Limits& limits) {
  CaseResult out;
  out.name = one.name;
  // A file that is not there is no result: it must not pass for a case that is expected to be refused.
  const std::string text = schedule_text(one);
  out.input = input_fingerprint(one, text);
  try {
    if (one.schedule_file.empty())
      record(evaluate(io::read_run_config(one.config.root()), limits), metrics, out);
    else
      evaluate_file(one, text, metrics, limits, out);
  } catch (const InputError& error) {
    out.status = "illegal";
    out.error = error.line();
  } catch (const ScheduleError& error) {
    out.status = "illegal";
    out.error = error.line();
  }
  return out;
}

CheckResult check(const Suite& suite, const CheckOptions& options) {
  if (!std::filesystem::exists(suite.baseline_path))
    throw InputError(
        Where{suite.baseline_path},
        "there is no baseline yet; look at the results and run `pipeloom check --update` to make one");
  const auto rows = read_baseline(suite.baseline_path);
  CheckResult out;
  out.results = run_all(suite, options);
  collect_unexpected(suite, out);
  collect_changes(suite, options, rows, out);
  return out;
}

CheckResult update_baseline(const Suite& suite, const CheckOptions& options) {
  std::map<std::string, CaseResult> rows;
  if (std::filesystem::exists(suite.baseline_path)) rows = read_baseline(suite.baseline_path);
  CheckResult out;
  out.results = run_all(suite, options);
  collect_unexpected(suite, out);
  collect_changes(suite, options, rows, out);
  if (options.only.empty()) rows.clear();
  for (const CaseResult& row : out.results) rows[row.name] = row;
  io::write_file(suite.baseline_path, io::Overwrite::Yes,
                 [&rows](std::ostream& stream) { write_baseline(stream, rows); });
  return out;
}

}  // namespace pipeloom::study
