#pragma once

// How much better any order could be.

#include <string>

#include "sim/costs.hpp"
#include "sim/schedule.hpp"
#include "sim/steps.hpp"

namespace pipeloom {

struct LowerBound {
  Ticks value = 0;
  /// "rank-work" (busiest rank), "rank-head-tail" (earliest possible start + work + latest necessary tail of some set of a
  /// rank's ops), "microbatch-chain" (one microbatch through the whole pipeline), "optimizer-period".
  std::string name;
};

/// The best proven bound over all orders with this placement, these entries and costs: on `makespan` under
/// `barrier`, on `steady_period` under `post-validation`.
///
/// head(op) and tail(op): longest chains of data dependencies before and after the op, queues ignored. For any set J
/// of one rank's entries, makespan >= min_J head + sum_J work + min_J tail (one-machine relaxation, Carlier 1982); the best J
/// is {head >= h, tail >= t} for some h and t, which is what is searched. 33 for 1F1B, p = 4, m = 8, F = 1, B = 2.
[[nodiscard]] LowerBound lower_bound(const Schedule& schedule, const Costs& costs, const Steps& steps);

}  // namespace pipeloom
