#pragma once

// The same step with less memory: a search for an order ends at the first that is short enough, and that holds as much as its limit lets it.

#include <optional>
#include <string_view>
#include <vector>

#include "study/plan/plan.hpp"

namespace pipeloom::study {

/// How the name of such an order goes on.
inline constexpr std::string_view kLeastMemory = "least memory";

/// An order on the candidate's stages that holds less, and takes at most kSameStep longer: the least of the limits 1, 2, .. microbatches of the fullest
/// rank under which a search finds one, by halving. The levels do not depend on the workload's limit, so that one with more room gives the same.
/// `kin`: candidates, best first, whose orders the searches begin with where they hold little enough. Nothing where no order holds less, and for runs whose orders are
/// not searched as words (orders::Problem): with copies, overlapped pairs, forwards that run again, or durations of single microbatches.
[[nodiscard]] std::optional<PlanCandidate> squeezed_candidate(const PlanCandidate& from,
                                                              const std::vector<const PlanCandidate*>& kin,
                                                              const PlanOptions& options,
                                                              const Limits& limits);

}  // namespace pipeloom::study
