#pragma once

// Suites and baselines: the cases that `check` runs, and the results that it compares with.

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/io/json/json_value.hpp"
#include "study/report/metric.hpp"
#include "study/run/evaluate.hpp"
#include "study/text/finding.hpp"

namespace pipeloom::study {

/// Change of a metric up to which it counts as unchanged. Both may be set: the wider one holds.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
};

struct SuiteCase {
  std::string name;
  /// The configuration with the case's "set" applied and its costs file in place; for a schedule file, its costs.
  io::Document config;
  /// Path of the file that holds the configuration, or "" for one in the suite itself.
  std::string config_file;
  /// Path of a schedule file, or "".
  std::string schedule_file;
  /// "ok", "illegal", "deadlock" or "over_memory".
  std::string expect = "ok";
  /// The worst value that a metric may have, by its name: the most, or the least where more is better. The case's own and the suite's.
  std::map<std::string, double> limits;
  Where where;  ///< of the case in the suite; of the pattern for a case that a "glob" made
  /// Set if a file of the case cannot be read: it has no result, and the others have theirs.
  std::optional<InputError> broken;
};

struct Suite {
  std::string path;
  std::string baseline_path;
  std::vector<std::string> metrics;  ///< no name twice
  std::map<std::string, Tolerance> tolerance;
  std::map<std::string, double> limits;  ///< of every case; of metrics of the suite
  std::vector<SuiteCase> cases;
};

/// Reads a suite; names of files in it are relative to its folder, a "glob" becomes one case per file in name order, of the
/// schedule if the file holds one, else of the configuration. Throws InputError for anything unknown, duplicate names, limits of
/// metrics that the suite does not list, and globs that match nothing. A case whose file cannot be read is there, and broken.
[[nodiscard]] Suite read_suite(const std::string& path);
/// The same for a text that is already read from `path`.
[[nodiscard]] Suite parse_suite(const io::Document& document, const std::string& path);

/// Result of one case. The fields before `error` are also a row of the baseline.
struct CaseResult {
  std::string name;
  std::string input;  ///< fingerprint (study/text/fingerprint.hpp) of configuration and schedule files
  std::string
      status;  ///< "ok", "illegal" (also: refused), "deadlock", "over_memory"; "failed" without a result: never expected
  /// Metric name -> value text as in the report, in the suite's order. Empty unless status is "ok" or "over_memory".
  std::vector<std::pair<std::string, std::string>> metrics;
  std::string orders;    ///< fingerprint of the queues
  std::string timeline;  ///< fingerprint of every start and end
  std::string error;     ///< the error line if there was one
  std::string expect = "ok";
  Where where;                    ///< of the case in the suite
  std::string time_unit;          ///< "ms"; "" if it did not run
  std::vector<Finding> findings;  ///< all errors; none if status is "ok" and all limits hold
  /// "bubble_ratio is 0.2727, above its limit of 0.2": of each metric beyond its limit.
  std::vector<std::string> over_limits;

  [[nodiscard]] bool failed() const { return status == "failed"; }
  [[nodiscard]] bool as_expected() const { return status == expect && over_limits.empty(); }
};

/// Runs one case; an error in its input becomes its status, error and findings. A file that cannot be read, and a run that needs more memory
/// than it may use, are no result: the status is then "failed".
[[nodiscard]] CaseResult run_case(const SuiteCase& one, const std::vector<std::string>& metrics,
                                  const Limits& limits);

enum class Verdict : unsigned char { Better, Worse, Changed, New, Gone };
/// "better", "worse", "changed", "new", "gone".
[[nodiscard]] std::string_view name_of(Verdict verdict);

/// One difference between a run and its baseline.
struct Change {
  std::string case_name;
  std::string what;  ///< a metric, "status", "orders", "timeline", "input", or "case"
  std::string before;
  std::string after;
  Verdict verdict = Verdict::Changed;
};

struct CheckResult {
  std::string suite_path;
  std::string baseline_path;
  std::map<std::string, Tolerance> tolerance;
  std::vector<CaseResult> results;  ///< in suite order
  std::vector<Change> changes;      ///< by case
  /// Cases whose status is not the expected one, or that are beyond a limit: "name: expected ok, got illegal: <error line>".
  std::vector<std::string> unexpected;
  /// The changes have been written into the baseline.
  bool updated = false;
  /// Set if the suite could not be run at all: everything else but suite_path is empty then.
  std::optional<Finding> failure;
  /// No difference that counts, nothing unexpected: `check` exits with 0. An improvement counts as a difference: the
  /// baseline has to be updated for it.
  [[nodiscard]] bool passed() const { return changes.empty() && unexpected.empty() && !failure; }
  /// A case has no result.
  [[nodiscard]] bool any_failed() const {
    return std::any_of(results.begin(), results.end(), [](const CaseResult& one) { return one.failed(); });
  }
};

struct CheckOptions {
  /// Only cases whose name matches this pattern of * and ?; empty means all.
  std::string only;
  Limits limits;
};

/// Runs the suite and compares with its baseline. Throws InputError if there is no baseline (it says how to make one).
[[nodiscard]] CheckResult check(const Suite& suite, const CheckOptions& options);

/// Runs the suite and writes its baseline, whatever it was. With `only`, the other rows stay as they are.
/// Returns the changes.
[[nodiscard]] CheckResult update_baseline(const Suite& suite, const CheckOptions& options);

/// True if `text` matches a pattern in which * matches any text and ? one character.
[[nodiscard]] bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace pipeloom::study
