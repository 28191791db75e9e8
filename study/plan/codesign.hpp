#pragma once

// Layers to stages, chosen together with the schedule or the order.

#include <optional>
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

/// Layers, placement, what single stages recompute or offload, and order changed together (sim/orders/designs), from the designs of these candidates
/// (best first) and from loops and V shapes, as far as may vary. Without a model stages stay what they are and where they are, those of
/// candidates that are `over` their limits too. Nothing where nothing but the order may vary, or where that is not better than the fastest of the
/// candidates that has one copy of the model and whole sequences.
[[nodiscard]] std::optional<PlanCandidate> codesigned_candidate(
    const std::vector<const PlanCandidate*>& candidates, const std::vector<const PlanCandidate*>& over,
    const PlanOptions& options, const Limits& limits);

}  // namespace pipeloom::study
