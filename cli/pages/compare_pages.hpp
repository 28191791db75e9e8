#pragma once

// Output of `pipeloom compare`: runs against a baseline, and results of sweeps against one, for people and as JSON
// (study/report/schemas/comparison.json).

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/answers/compare_results.hpp"
#include "study/compare/compare.hpp"
#include "study/compare/compare_rule.hpp"
#include "study/text/table.hpp"

namespace pipeloom::cli {

struct ComparePage {
  bool markdown = false;
  bool colour = false;
  /// As many ops, causes and points of each kind.
  std::size_t most = 5;
};

/// A table and a heading as the page's format writes them.
[[nodiscard]] std::string written(const study::Table& table, const ComparePage& page);
[[nodiscard]] std::string heading(std::string_view text, const ComparePage& page);

/// A rule and a run that it was asked of.
struct RunVerdict {
  std::string rule;
  std::size_t run = 0;
  bool holds = false;
};

/// runs[0] is the baseline.
[[nodiscard]] std::string runs_page(std::span<const pipeloom::Run* const> runs, const ComparePage& page);
/// `rows` are those of compare_all_metrics().
[[nodiscard]] std::string runs_json(std::span<const pipeloom::Run* const> runs,
                                    std::span<const study::MetricRow> rows,
                                    std::span<const RunVerdict> verdicts);

/// A result against the baseline. The objects that it points to must outlive it.
struct ComparedResult {
  std::string title;
  const sweep::ResultTable* before = nullptr;
  const sweep::ResultTable* after = nullptr;
  sweep::ResultComparison comparison;
  std::vector<sweep::RuleVerdict> verdicts;
  std::size_t lost = 0;  ///< points that were ok and are not any more
};
[[nodiscard]] std::string result_page(const std::string& baseline, const ComparedResult& result,
                                      const ComparePage& page);
[[nodiscard]] std::string results_json(const std::string& baseline, std::span<const ComparedResult> results);
/// "point 17, zb-h1, ranks 4: makespan 33.0 ms, was 30.0 ms".
[[nodiscard]] std::string changed_point(const ComparedResult& result, std::string_view metric,
                                        const sweep::PointPair& pair);

}  // namespace pipeloom::cli
