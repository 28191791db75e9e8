#pragma once

// The chain of ops and transfers that sets the makespan, and how long each op could be delayed without
// changing it.

#include <vector>

#include "sim/costs.hpp"
#include "sim/dag.hpp"
#include "sim/timeline.hpp"

namespace pipeloom {

struct CriticalPath {
  /// Sum of the durations and transfer delays along the chain: equals the makespan.
  Ticks length = 0;
  /// Op index of the first op of each entry on the chain, in time order.
  std::vector<std::size_t> entries;
};

/// One longest chain of the first step, found on the dependency graph (sim/dag.hpp) with Boost.Graph's
/// dag_shortest_paths under the reversed order. Among equal chains the choice is deterministic.
[[nodiscard]] CriticalPath critical_path(const Timeline& timeline, const Costs& costs);
/// The same on a graph that is there already.
[[nodiscard]] CriticalPath critical_path(const TimedDag& graph);

/// slack[i] of op index i: how much later its entry could start with the makespan unchanged. 0 on the critical path.
[[nodiscard]] std::vector<Ticks> slack(const Timeline& timeline, const Costs& costs);

}  // namespace pipeloom
