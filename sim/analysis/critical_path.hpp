#pragma once

// The chain of ops and transfers that sets the makespan, and how long each op could be delayed without
// changing it.

#include <vector>

#include <pipeloom/metrics.hpp>

namespace pipeloom {

/// One longest chain of the first step, walked back from the end that comes last: from every entry to the one that it waited for, on the
/// edges of sim/analysis/entry_edges.hpp. Where it waited for several until the same tick, the chain stays on its rank if it can, else
/// follows the first such op of the entry; of several last ends it takes the lowest rank's. In a timeline that the costs do not
/// explain, a measured one, the chain follows the last arrival. One look-up table of 4 bytes per op, then O(entries on the chain).
[[nodiscard]] CriticalPath critical_path(const Timeline& timeline, const Costs& costs);

/// slack[i] of op index i: how much later its entry could start with the makespan unchanged. 0 on the critical path.
[[nodiscard]] std::vector<Ticks> slack(const Timeline& timeline, const Costs& costs);

}  // namespace pipeloom
