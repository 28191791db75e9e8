#pragma once

// Annotations of GitHub Actions: lines of workflow commands on standard output.

#include <string>

#include "study/suite/suite.hpp"

namespace pipeloom::study::gate {

/// What one step of a job may annotate with errors, and again with warnings; GitHub drops the rest in silence.
inline constexpr std::size_t kMaxAnnotations = 10;

/// One line per case that is not fine, at its place in the suite, the worst first: ::error for what is unexpected, worse or changed,
/// ::warning for what is better or unlisted, at most kMaxAnnotations of each. A ::notice counts the cases that are left out.
/// File, title and message are escaped as the workflow commands of the runner want it. "" if everything is fine.
[[nodiscard]] std::string annotations(const CheckResult& result);

}  // namespace pipeloom::study::gate
