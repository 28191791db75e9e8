#pragma once

// Comparisons as JSON (study/report/schemas/comparison.json): runs against a baseline, and results of sweeps against one.

#include <span>
#include <string>

#include "study/compare/compare.hpp"
#include "study/pages/sweep_compare.hpp"

namespace pipeloom::cli {

/// A rule and a run that it was asked of.
struct RunVerdict {
  std::string rule;
  std::size_t run = 0;
  bool holds = false;
};

/// runs[0] is the baseline; `rows` are those of compare_all_metrics().
[[nodiscard]] std::string runs_json(std::span<const pipeloom::Run* const> runs,
                                    std::span<const study::MetricRow> rows,
                                    std::span<const RunVerdict> verdicts);
[[nodiscard]] std::string results_json(const std::string& baseline,
                                       std::span<const study::page::ComparedResult> results);

}  // namespace pipeloom::cli
