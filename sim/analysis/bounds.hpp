#pragma once

// How much better any order could be.

#include <pipeloom/metrics.hpp>

namespace pipeloom {

/// The best proven bound over all orders with this placement, these entries and costs: on `makespan` under
/// `barrier`, on the period of the repeated schedule under `post-validation`.
///
/// head(op) and tail(op): longest chains of data dependencies before and after the op, queues ignored. For any set J
/// of one rank's entries, makespan >= min_J head + sum_J work + min_J tail (one-machine relaxation, Carlier 1982); the best J
/// is {head >= h, tail >= t} for some h and t, which is what is searched. 33 for 1F1B, p = 4, m = 8, F = 1, B = 2.
///
/// Under `post-validation` each rank repeats its own work and optimizer every step, so the bound is the largest of those sums.
/// `reached`: the makespan of one of these orders, which no bound can pass; a bound that is as large needs no further search.
///
/// O(stages) where all microbatches are alike and run alone, else O(entries log entries), or O(entries) where a set of all entries of a rank
/// proves `reached`; see sim/analysis/chain_jobs.hpp.
[[nodiscard]] LowerBound lower_bound(const Schedule& schedule, const Costs& costs, const Steps& steps,
                                     Ticks reached = kMaxTicks);

}  // namespace pipeloom
