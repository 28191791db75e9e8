#pragma once

// Who wins: steps that nobody could tell apart are the same step, and of these the one that holds least is the best.

#include <optional>
#include <utility>
#include <vector>

#include "study/plan/plan.hpp"

namespace pipeloom::study {

/// Times, and rates, within this share of the best are as good: less than a step differs from the next in any run.
inline constexpr double kSameStep = 0.001;

/// What the objective makes small: ticks, tokens per second below 0, or bytes. Infinite for a p95 that was not found.
[[nodiscard]] double value_of(const PlanCandidate& candidate, PlanObjective objective);

/// The value, then the peak where that is the step, else the step.
[[nodiscard]] std::pair<double, double> key_of(const PlanCandidate& candidate, PlanObjective objective);
/// Whether the value is within kSameStep of the best.
[[nodiscard]] bool is_same(const PlanCandidate& one, const PlanCandidate& best, PlanObjective objective);

/// Best first: each is, of those left whose value is within kSameStep of the best left, the one with the least peak. Under peak_bytes, the least
/// peak, and of equal peaks the shortest step.
void rank(std::vector<PlanCandidate>& candidates, PlanObjective objective);

/// Whether it is interleaved 1F1B, of any number of chunks.
[[nodiscard]] bool is_usual(const PlanCandidate& candidate);
/// Interleaved 1F1B at its best: what most begin with; 1F1B where the plan has none and nothing runs now. Of what is over the limit only where none fits; null without either.
[[nodiscard]] const PlanCandidate* best_usual(const Plan& plan);
/// What steps are compared with: what runs now, or where nothing does best_usual().
[[nodiscard]] const PlanCandidate* compared_with(const Plan& plan);

/// The candidate to think of instead of the winner: the fastest of those at most kNeighbour slower that hold at least kLighter of its peak less. Null
/// where none is.
[[nodiscard]] const PlanCandidate* cheap_neighbour(const Plan& plan);
inline constexpr double kNeighbour = 0.01;
inline constexpr double kLighter = 0.05;

/// Names that several candidates have say their layers, or a number.
void tell_apart(std::vector<PlanCandidate>& candidates);
/// Sets PlanCandidate::change of all.
void find_changes(Plan& plan);
/// Sets Plan::pareto.
void find_front(Plan& plan);

/// The step that is not passed in 95 of 100 runs under noise. Nothing for runs that noise cannot be drawn for: with recomputation.
[[nodiscard]] std::optional<Ticks> p95_if_any(const PlanCandidate& candidate, const PlanOptions& options);

/// True if `one` is preferred to `other` under the objective: by the step, or by p95 if that is the objective and noise can be drawn for both.
[[nodiscard]] bool is_better(const PlanCandidate& one, const PlanCandidate& other,
                             const PlanOptions& options);

}  // namespace pipeloom::study
