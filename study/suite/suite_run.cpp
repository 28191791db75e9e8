// Running suites.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "sim/analysis/validate.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/config/config.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/formats/schedule_json.hpp"
#include "sim/io/json/file.hpp"
#include "study/report/run_tables.hpp"
#include "study/run/run_status.hpp"
#include "study/suite/baseline.hpp"
#include "study/suite/case_verdict.hpp"
#include "study/suite/lint_rules.hpp"
#include "study/suite/suite.hpp"
#include "study/text/fingerprint.hpp"
#include "study/text/result_text.hpp"

namespace pipeloom::study {
namespace {

/// The file that a configuration of the schedule `custom` names, or "".
std::string custom_file(const io::Value& config) {
  if (!config.is(io::ValueKind::Object)) return "";
  const io::Value* schedule = config.find("schedule");
  const io::Value* options = config.find("options");
  if (schedule == nullptr || schedule->text() != io::kCustomSchedule || options == nullptr) return "";
  const io::Value* file = options->is(io::ValueKind::Object) ? options->find("file") : nullptr;
  return file == nullptr ? "" : io::relative_to(schedule->where().file, file->text());
}

/// A schedule file's content, or "" for a generated schedule.
std::string schedule_text(const SuiteCase& one) {
  const std::string path = one.schedule_file.empty() ? custom_file(one.config.root()) : one.schedule_file;
  return path.empty() ? path : io::read_file(path);
}

std::string input_fingerprint(const SuiteCase& one, const std::string& schedule) {
  Fingerprint input;
  input.add(one.config.root().canonical_text());
  input.add(std::string_view("\n"));
  input.add(schedule);
  const io::Value& config = one.config.root();
  if (const io::Value* costs = config.is(io::ValueKind::Object) ? config.find("costs") : nullptr)
    for (const std::string& table : io::named_files(*costs, "costs")) input.add(io::read_file(table));
  return input.text();
}

/// Something wrong, at its own place if that is one in a file: values that the suite sets have the case's.
Finding finding(const SuiteCase& one, std::string_view rule, const Where& where, std::string_view message) {
  const bool in_file = where.line > 0 || (!where.file.empty() && where.file == one.schedule_file);
  return {std::string(rule), std::string(message), in_file ? where : one.where};
}

/// Fills everything that a finished evaluation says.
void record(const SuiteCase& one, const Run& run, const std::vector<std::string>& metrics, CaseResult& out) {
  out.status = name_of(run.over_limit ? Status::OverMemory : Status::Ok);
  for (const auto& name : metrics)
    if (std::string text = text_of(find_metric(name), run); text != kNoValue)
      out.metrics.emplace_back(name, std::move(text));
  out.orders = fingerprint_of_orders(*run.schedule);
  out.timeline = fingerprint_of_times(run.timeline);
  out.time_unit = name_of(run.timeline.unit);
  if (!run.over_limit) return;
  out.error = over_limit_text(*run.over_limit, *run.memory);
  out.findings.push_back(finding(one, "over-memory", {}, out.error));
}

void evaluate_file(const SuiteCase& one, const std::string& text, const std::vector<std::string>& metrics,
                   const Limits& limits, CaseResult& out) {
  const auto schedule = io::read_schedule(text, one.schedule_file).schedule;
  if (const auto diagnostics = validate(*schedule); !diagnostics.empty()) {
    out.status = name_of(only_hangs(diagnostics) ? Status::Hang : Status::Illegal);
    out.error = fmt::format("{}: {}", one.schedule_file, diagnostics.front().message);
    const io::SchedulePlaces places(text, one.schedule_file);
    for (const Diagnostic& diagnostic : diagnostics)
      out.findings.push_back({diagnostic.code, diagnostic.message, places.of(diagnostic)});
    return;
  }
  const auto config = io::read_run_config(one.config.root(), io::Needs::CostsOnly);
  record(one,
         evaluate_schedule(schedule, std::filesystem::path(one.schedule_file).filename().string(), config,
                           limits),
         metrics, out);
}

/// Records the error that refuses a case as its status. Rethrows an error that is not about the input.
void record_error(const SuiteCase& one, const Error& error, CaseResult& out) {
  const Status status = status_of(error);
  if (error.exit_code() != ExitCode::BadInput) throw;
  out.status = name_of(status);
  out.error = error.line();
  out.findings.push_back(finding(one, gate::rule_of(error), error.where(), error.what()));
}

/// A file that cannot be read leaves its case without a result.
void record_failure(const InputError& error, CaseResult& out) {
  out.status = name_of(Status::Failed);
  out.error = error.line();
  out.findings.push_back({std::string(gate::rule_of(error)), error.what(), error.where()});
}

/// Compares the results with the case's limits.
void judge_limits(const SuiteCase& one, CaseResult& out) {
  for (const auto& [name, text] : out.metrics) {
    const auto limit = one.limits.find(name);
    if (limit == one.limits.end()) continue;
    const double value = std::strtod(text.c_str(), nullptr);
    const bool more_is_better = find_metric(name).better == Better::Higher;
    if (more_is_better ? value >= limit->second : value <= limit->second) continue;
    out.over_limits.push_back(fmt::format("{} is {}, {} its limit of {}", name, text,
                                          more_is_better ? "below" : "above", limit->second));
    out.findings.push_back(finding(one, "limit", {}, out.over_limits.back()));
  }
}

bool has_case(const Suite& suite, std::string_view name) {
  return std::ranges::any_of(suite.cases, [name](const SuiteCase& one) { return one.name == name; });
}

bool selected(const SuiteCase& one, const CheckOptions& options) {
  return options.only.empty() || matches_glob(options.only, one.name);
}

std::vector<CaseResult> run_all(const Suite& suite, const CheckOptions& options) {
  std::vector<CaseResult> out;
  for (const SuiteCase& one : suite.cases)
    if (selected(one, options)) out.push_back(run_case(one, suite.metrics, options.limits));
  if (out.empty())
    throw InputError(Where{suite.path},
                     fmt::format("no case matches '{}'; the suite has {} cases: give --only the name of one, "
                                 "where * and ? stand for any text",
                                 shortened(options.only, 80), suite.cases.size()));
  return out;
}

void collect_unexpected(CheckResult& result) {
  for (const CaseResult& row : result.results) {
    if (row.as_expected()) continue;
    result.unexpected.push_back(fmt::format("{}: {}", shortened(row.name, 80), gate::unexpected_text(row)));
  }
}

/// Compares with the rows; a row whose case is gone counts only if all cases ran.
void collect_changes(const Suite& suite, const CheckOptions& options,
                     const std::map<std::string, CaseResult>& rows, CheckResult& result) {
  for (const CaseResult& after : result.results) {
    if (after.failed()) continue;
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
    if (!has_case(suite, name)) result.changes.push_back({name, "case", row.status, "", Verdict::Gone});
}

/// Runs all cases; the result names the suite, its baseline and its tolerances.
CheckResult run_suite(const Suite& suite, const CheckOptions& options) {
  CheckResult out;
  out.suite_path = suite.path;
  out.baseline_path = suite.baseline_path;
  out.tolerance = suite.tolerance;
  out.results = run_all(suite, options);
  collect_unexpected(out);
  return out;
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
  out.expect = one.expect;
  out.where = one.where;
  if (one.broken) {
    record_failure(*one.broken, out);
    return out;
  }
  // A file that is not there is no result: it must not pass for a case that is expected to be refused.
  std::string text;
  try {
    text = schedule_text(one);
    out.input = input_fingerprint(one, text);
  } catch (const InputError& error) {
    record_failure(error, out);
    return out;
  }
  try {
    if (one.schedule_file.empty())
      record(one, evaluate(io::read_run_config(one.config.root()), limits), metrics, out);
    else
      evaluate_file(one, text, metrics, limits, out);
    judge_limits(one, out);
  } catch (const Error& error) {
    record_error(one, error, out);
  }
  return out;
}

CheckResult check(const Suite& suite, const CheckOptions& options) {
  std::error_code none;
  if (!std::filesystem::exists(suite.baseline_path, none))
    throw InputError(
        Where{suite.baseline_path},
        fmt::format(
            "there is no baseline yet; look at the results and run `pipeloom check {} --update` to make one",
            shortened(suite.path, 200)));
  const auto rows = read_baseline(suite.baseline_path);
  CheckResult out = run_suite(suite, options);
  collect_changes(suite, options, rows, out);
  return out;
}

CheckResult update_baseline(const Suite& suite, const CheckOptions& options) {
  std::map<std::string, CaseResult> rows;
  std::error_code none;
  if (std::filesystem::exists(suite.baseline_path, none))
    rows = read_baseline(suite.baseline_path, "remove it to have it written anew");
  CheckResult out = run_suite(suite, options);
  collect_changes(suite, options, rows, out);
  if (options.only.empty())
    std::erase_if(rows, [&suite](const auto& row) { return !has_case(suite, row.first); });
  for (const CaseResult& row : out.results)
    if (!row.failed()) rows[row.name] = row;
  io::write_file(suite.baseline_path, io::Overwrite::Yes,
                 [&rows](std::ostream& stream) { write_baseline(stream, rows); });
  out.updated = true;
  return out;
}

}  // namespace pipeloom::study
