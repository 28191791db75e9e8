#pragma once

// Layers to stages, chosen together with the schedule or the order.

#include <optional>
#include <vector>

#include "study/plan/plan.hpp"

namespace pipeloom::study {

/// The fastest of these (best first) again, each with the split of layers that balance_layers() finds for it. None that gains nothing.
[[nodiscard]] std::vector<PlanCandidate> balanced_candidates(
    const std::vector<const PlanCandidate*>& candidates, const PlanOptions& options, const Limits& limits);

/// From the best of the orders found: single layers move between stages and the order is searched again from the one that stood, as long as
/// that helps. Nothing where it does not.
[[nodiscard]] std::optional<PlanCandidate> codesigned_candidate(const std::vector<PlanCandidate>& found,
                                                                const PlanOptions& options,
                                                                const Limits& limits);

}  // namespace pipeloom::study
