#pragma once

// Outputs of `check` for CI systems: one source file per format.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/suite/suite.hpp"

namespace pipeloom::study::gate {

// Annotations of GitHub Actions: lines of workflow commands on standard output.

/// Number of errors, and of warnings, that one step of a job may annotate; GitHub drops the rest in silence.
inline constexpr std::size_t kMaxAnnotations = 10;

/// One line per case that is not fine, at its place in the suite, the worst first: ::error for cases that are unexpected, worse or changed,
/// ::warning for those that are better or unlisted, at most kMaxAnnotations of each. A ::notice counts the cases that are left out.
/// File, title and message are escaped as the workflow commands of the runner want it. "" if everything is fine.
[[nodiscard]] std::string annotations(const CheckResult& result);

// A page in Markdown: the summary of a step of GitHub Actions, or a comment on a pull request.

/// The largest summary of one step; GitHub refuses larger ones.
inline constexpr std::size_t kMaxSummaryBytes = std::size_t{1} << 20;

/// A heading with the verdict, the unexpected cases, a table of changes (cases with the worst news first), and the metrics of all cases folded
/// away below. Never more than `max_bytes` bytes: rows that do not fit are counted instead. With less than a kibibyte there is room
/// for nothing but the heading, and "" if not even for that.
[[nodiscard]] std::string summary(const CheckResult& result, std::size_t max_bytes = kMaxSummaryBytes);

// JUnit XML, as Jenkins, GitLab and most other CI servers read it.

/// One <testcase> per case in suite order, then one per case that is gone: a <failure> of type "unexpected", "worse", "changed",
/// "better" or "unlisted" (case_verdict.hpp) with a line per change where it is not fine; one <error> if the suite could not be run.
/// No times: equal results give equal bytes. Satisfies the schema of the xUnit plugin of Jenkins (junit-10.xsd).
[[nodiscard]] std::string junit(const CheckResult& result);

// SARIF 2.1.0 (OASIS): findings of a linter, as code scanning shows them.

/// One result per finding, the rules of lint_rules.hpp in the driver. Places are those of the files, relative as they were named;
/// columns count bytes, as in every message of Pipeloom. A finding's fingerprint is of rule, file and message: it keeps it when lines above move.
/// `version` is that of the program.
[[nodiscard]] std::string sarif(std::span<const Finding> findings, std::string_view version);

/// Errors in the suite's files: the findings of cases whose status is not the expected one, or the error that kept the suite from running.
[[nodiscard]] std::vector<Finding> lint_findings(const CheckResult& result);

// Bencher Metric Format: the JSON that Bencher tracks.

/// {"<case>": {"<metric>": {"value": 33.0}}}: every metric of every case that has any, values as in the report. The unit of times is the
/// case's own. Cases without metrics (illegal, hanging) are left out.
[[nodiscard]] std::string bmf(const CheckResult& result);

// The JSON of github-action-benchmark, for its tool "customSmallerIsBetter".

/// [{"name": "<case>/<metric>", "unit": "ms", "value": 33.0}]: a slash groups its charts by case. One file has one direction, and in ours less
/// is better: metrics without a direction and those of which more is better are left out.
[[nodiscard]] std::string benchmark_json(const CheckResult& result);

}  // namespace pipeloom::study::gate
