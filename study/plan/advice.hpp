#pragma once

// What would make a plan's winner better: changes that were simulated.

#include <vector>

#include "study/plan/plan.hpp"

namespace pipeloom::study {

/// Largest gain first; none below a tenth of a percent. REQUIRES: the plan has candidates.
[[nodiscard]] std::vector<PlanAdvice> advice_of(const Plan& plan, const PlanOptions& options,
                                                const Limits& limits);

}  // namespace pipeloom::study
