#pragma once

// What walks the queues, answered on the dependency graph instead: chains of data, critical path, slack.

#include <vector>

#include <pipeloom/metrics.hpp>
#include "sim/analysis/bounds.hpp"
#include "sim/analysis/critical_path.hpp"

namespace pipeloom::test {

/// The jobs of all ranks, as the walks find them: [rank][job].
[[nodiscard]] std::vector<std::vector<ChainJob>> chain_jobs(const Schedule& schedule, const Costs& costs);
/// The same by longest paths over the graph's data edges.
[[nodiscard]] std::vector<std::vector<ChainJob>> graph_chain_jobs(const Schedule& schedule,
                                                                  const Costs& costs);

/// As critical_path(): back along the graph's edges.
[[nodiscard]] CriticalPath graph_critical_path(const Timeline& timeline, const Costs& costs);

/// As slack(): longest paths from the source, and backwards in topological order.
[[nodiscard]] std::vector<Ticks> graph_slack(const Schedule& schedule, const Costs& costs);

}  // namespace pipeloom::test
