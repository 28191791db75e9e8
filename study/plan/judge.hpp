#pragma once

// Candidates as the target runs them, and how the winner is told to each.

#include <vector>

#include "study/plan/plan.hpp"
#include "study/targets/verdict.hpp"

namespace pipeloom::study {

/// Takes what the target does not run, or cannot be told, out of the candidates and into `rejected`, with the reason. What it runs with other layers is
/// evaluated with these. Candidates that were judged before stay as they are. REQUIRES: a target is asked for.
void judge(std::vector<PlanCandidate>& candidates, const PlanOptions& options, const Limits& limits,
           std::vector<PlanRejected>& rejected);

/// What the target that is asked for makes of the candidate, or each of targets().
[[nodiscard]] std::vector<TargetVerdict> verdicts_of(const PlanCandidate& candidate,
                                                     const PlanOptions& options);

/// Candidates that the target does not run; without one, targets that do not run the winner.
[[nodiscard]] std::vector<NotTaken> not_taken(const Plan& plan, const PlanOptions& options);

}  // namespace pipeloom::study
