#pragma once

// Baseline files: one row per case of a suite.

#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "study/suite/suite.hpp"

namespace pipeloom::study {

/// Rows by case name. Throws InputError for anything that `check --update` would not have written; `advice` ends its message: the remedy
/// then.
[[nodiscard]] std::map<std::string, CaseResult> read_baseline(
    const std::string& path,
    std::string_view advice = "remove it and run `pipeloom check --update` to write it anew");

/// Rows in name order, one metric per line: a change of one number is a change of one line.
void write_baseline(std::ostream& out, const std::map<std::string, CaseResult>& rows);

/// Changes between a case's row and its present result. A metric counts as changed if it moved by more than
/// max(absolute, relative * |before|); equal numbers are never a change, however they are written. The fingerprint of times is not compared if a metric
/// in time units has a tolerance: times are then allowed to move.
[[nodiscard]] std::vector<Change> compare_rows(const CaseResult& before, const CaseResult& after,
                                               const std::map<std::string, Tolerance>& tolerance);

}  // namespace pipeloom::study
