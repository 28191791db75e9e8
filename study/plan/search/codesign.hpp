#pragma once

// Layers to stages, chosen together with the schedule or the order.

#include <optional>
#include <vector>

#include "study/plan/plan.hpp"

namespace pipeloom::study {

/// Layers, placement, what single stages recompute or offload, and order changed together (sim/orders/designs), from the designs of these candidates
/// (best first) and from loops and V shapes, as far as may vary. Without a model stages stay what they are and where they are, those of
/// candidates that are `over` their limits too. Nothing where nothing but the order may vary, or where that is not better than the fastest of the
/// candidates that has one copy of the model and whole sequences.
[[nodiscard]] std::optional<PlanCandidate> codesigned_candidate(
    const std::vector<const PlanCandidate*>& candidates, const std::vector<const PlanCandidate*>& over,
    const PlanOptions& options, const Limits& limits);

}  // namespace pipeloom::study
