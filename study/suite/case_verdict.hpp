#pragma once

// Verdict of a check on each case, in words: shared by every output of the gate.

#include <string>
#include <string_view>
#include <vector>

#include "study/suite/suite.hpp"

namespace pipeloom::study::gate {

/// Severity of the changes of one case, worst first. Everything but Fine fails the check.
enum class Severity : unsigned char {
  Broken,    ///< a status that the suite does not expect
  Worse,     ///< a metric moved in the wrong direction
  Changed,   ///< something without a direction is different: orders, times, input, status
  Better,    ///< metrics moved in the right direction only: the baseline has to know
  Unlisted,  ///< a case or metric is new, or gone
  Fine,
};
/// "unexpected", "worse", "changed", "better", "unlisted", "fine".
[[nodiscard]] std::string_view name_of(Severity severity);

struct CaseVerdict {
  std::string name;
  Severity severity = Severity::Fine;
  /// The case in the suite; the baseline's file for a case that is gone.
  Where where;
  const CaseResult* row = nullptr;  ///< null for a case that is gone
  std::vector<const Change*> changes;
};

/// One verdict per case in suite order, then one per case that is gone. Points into `result`. Changes that have been written into the
/// baseline are listed, but no longer make a case anything but Fine.
[[nodiscard]] std::vector<CaseVerdict> verdicts_of(const CheckResult& result);
/// The verdicts that are not Fine, the worst first, else in the same order.
[[nodiscard]] std::vector<CaseVerdict> failing(std::vector<CaseVerdict> verdicts);

/// "+1.2 %" between two numbers, "" between anything else and from zero.
[[nodiscard]] std::string relative_change(const Change& change);
/// "lower is better", "higher is better"; "" for a change without a direction.
[[nodiscard]] std::string_view direction_of(const Change& change);
/// "worse (lower is better)", "changed".
[[nodiscard]] std::string verdict_text(const Change& change);
/// The allowed change of the metric: "may move by 0.5 or 2 %"; "" without a tolerance.
[[nodiscard]] std::string tolerance_text(const CheckResult& result, const Change& change);

/// One line: "makespan 39.6 -> 41.6 (+5.1 %): worse, lower is better".
[[nodiscard]] std::string sentence(const CheckResult& result, const Change& change);
/// One line on a case that is not Fine: its error, or its worst change and the number of others.
[[nodiscard]] std::string headline(const CheckResult& result, const CaseVerdict& verdict);
/// Everything on a case that is not Fine, a line each: the unexpected status, then every change.
[[nodiscard]] std::vector<std::string> all_lines(const CheckResult& result, const CaseVerdict& verdict);

/// "expected ok, got illegal: <error line>", or "bubble_ratio is 0.2727, above its limit of 0.2". REQUIRES: !row.as_expected().
[[nodiscard]] std::string unexpected_text(const CaseResult& row);

}  // namespace pipeloom::study::gate
