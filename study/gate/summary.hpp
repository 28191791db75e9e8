#pragma once

// A page in Markdown: the summary of a step of GitHub Actions, or a comment on a pull request.

#include <string>

#include "study/suite/suite.hpp"

namespace pipeloom::study::gate {

/// The largest summary of one step; GitHub refuses larger ones.
inline constexpr std::size_t kMaxSummaryBytes = std::size_t{1} << 20;

/// A heading with the verdict, what is unexpected, a table of changes (cases with the worst news first), and the metrics of all cases folded
/// away below. Never more than `max_bytes` bytes: rows that do not fit are counted instead. With less than a kibibyte there is room
/// for nothing but the heading, and "" if not even for that.
[[nodiscard]] std::string summary(const CheckResult& result, std::size_t max_bytes = kMaxSummaryBytes);

}  // namespace pipeloom::study::gate
