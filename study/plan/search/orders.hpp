#pragma once

// Orders that a plan searches for on the placements of its candidates.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/orders/entries/entry_search.hpp"
#include "sim/orders/search/search.hpp"
#include "study/plan/candidates.hpp"

namespace pipeloom::study {

/// Words that a candidate's ranks run, and when its reloads are issued; nothing where they are not the problem's (orders::order_of).
[[nodiscard]] std::optional<orders::EntryStart> entry_start(const orders::Problem& problem,
                                                            const PlanCandidate& candidate);

/// The orders that candidates' ranks run, as starts of a search; without those that are not the problem's (orders::order_of).
[[nodiscard]] std::vector<orders::StartOrder> start_orders(
    const orders::Problem& problem, const std::vector<const PlanCandidate*>& candidates);

/// How to search for orders with copies, pairs or forwards that run again, so that best_made() has what it chooses among. `name`: of what, for the progress line.
[[nodiscard]] orders::EntrySearchOptions entry_search(const PlanOptions& options, std::int64_t work,
                                                      const std::string& name, TimeUnit unit);

/// How to search so that best_made() has what it chooses among.
[[nodiscard]] orders::SearchOptions order_search(const PlanOptions& options, std::int64_t work);

/// Of an order that was found, and under p95 those near it, the candidate that is best. `make` gives nothing for orders that do not fit.
using MakeCandidate = std::function<std::optional<PlanCandidate>(const orders::Order&)>;
[[nodiscard]] std::optional<PlanCandidate> best_made(const orders::FoundOrder& found,
                                                     const MakeCandidate& make, const PlanOptions& options);

/// The same of orders with copies, pairs or forwards that run again.
using MakeEntryCandidate = std::function<std::optional<PlanCandidate>(const orders::EntryStart&)>;
[[nodiscard]] std::optional<PlanCandidate> best_made(const orders::FoundEntries& found,
                                                     const MakeEntryCandidate& make,
                                                     const PlanOptions& options);

/// "searched loop v=2, recompute full": the placement, its chunks where there are several, and what the candidate's name says after the schedule.
[[nodiscard]] std::string searched_name(const PlanCandidate& like);

/// Candidates between which orders can be carried over: on one placement with the same memory and layers.
using Family = std::vector<const PlanCandidate*>;

/// The best order found on the placement of each family that may have one shorter than all of `candidates`, those that promise most first: candidates of their own. Runs of the family, whether they fit or
/// not, are where a search starts. Where there are many families, half of the seconds go to the best of them, once more from what was found. Nothing of a
/// family where no order fits or none is shorter than all of it. Where p95 is the objective, of orders near the best the one with the shortest p95; it may be
/// as long as the shortest of the family.
[[nodiscard]] std::vector<PlanCandidate> searched_candidates(
    std::vector<Family> families, const std::vector<const PlanCandidate*>& candidates,
    const PlanOptions& options, const Limits& limits, double seconds, std::vector<std::string>& warnings);

/// Ops that each chain of a search may time so that the search takes about so many seconds.
[[nodiscard]] std::int64_t search_work(double seconds, int threads);

}  // namespace pipeloom::study
