#pragma once

// Layers dealt out anew for the rows of a plan, so that rows compare.

#include <string>
#include <utility>
#include <vector>

#include "study/plan/budget.hpp"
#include "study/plan/plan.hpp"

namespace pipeloom::study {

/// A candidate, and Variant::memory_of.
using Row = std::pair<PlanCandidate, std::string>;

/// For each placement and memory the split of balance_layers() for the best of its rows, given to all of them. Returns the rows that are better with it: they
/// fit where they did not, or their step is shorter; the name is the row's own. What the budget has no room for stays as it is. REQUIRES: has_layers() of
/// every row.
[[nodiscard]] std::vector<Row> balanced_rows(const std::vector<const Row*>& rows, const PlanOptions& options,
                                             const Limits& limits, Budget& budget);

}  // namespace pipeloom::study
