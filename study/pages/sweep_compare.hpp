#pragma once

// Results of sweeps of one grid against a baseline: the answer of `pipeloom compare` for them.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/answers/compare_results.hpp"
#include "study/document/document.hpp"

namespace pipeloom::study::page {

/// A result against the baseline. The objects that it points to must outlive it.
struct ComparedResult {
  std::string title;
  const sweep::ResultTable* before = nullptr;
  const sweep::ResultTable* after = nullptr;
  sweep::ResultComparison comparison;
  std::vector<sweep::RuleVerdict> verdicts;
  std::size_t lost = 0;  ///< points that were ok and are not any more
};

/// For each result how many points differ, and of each metric the points that changed most, at most `most` of a kind. REQUIRES: not empty.
[[nodiscard]] Page results_answer(const std::string& baseline, std::span<const ComparedResult> results,
                                  std::size_t most);

/// "point 17, zb-h1, ranks 4: makespan 33.0 ms, was 30.0 ms".
[[nodiscard]] std::string changed_point(const ComparedResult& result, std::string_view metric,
                                        const sweep::PointPair& pair);

}  // namespace pipeloom::study::page
