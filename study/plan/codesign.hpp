#pragma once

// Layers to stages, chosen together with the schedule or the order.

#include <optional>
#include <vector>

#include "study/plan/plan.hpp"

namespace pipeloom::study {

/// The fastest of these (best first) again, each with the split of layers that balance_layers() finds for it. None that gains nothing.
[[nodiscard]] std::vector<PlanCandidate> balanced_candidates(
    const std::vector<const PlanCandidate*>& candidates, const PlanOptions& options, const Limits& limits);

/// Layers, placement and order changed together (sim/orders/designs), from the designs of these candidates (best first) and from loops and V shapes,
/// as far as may vary. Nothing where that is not faster than the fastest that has one copy of the model and whole sequences.
[[nodiscard]] std::optional<PlanCandidate> codesigned_candidate(
    const std::vector<const PlanCandidate*>& candidates, const PlanOptions& options, const Limits& limits);

}  // namespace pipeloom::study
