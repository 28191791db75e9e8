#pragma once

// What Boost.Graph and the rules of time say of a schedule's dependency graph: the second answer that engines and walks are compared with.

#include <vector>

#include <pipeloom/costs.hpp>
#include "sim/analysis/dag.hpp"

namespace pipeloom::test {

/// How long each entry lasts, [entry].
[[nodiscard]] std::vector<Ticks> durations_of(const Dag& dag, const Costs& costs);
/// The least time between the start of an edge's source and the start of its target, [edge].
[[nodiscard]] std::vector<Ticks> lags_of(const Dag& dag, const Costs& costs);

/// A cycle of the graph as vertices, each depending on the one before it, the first on the last; empty if there is none.
/// Boost.Graph depth_first_search.
[[nodiscard]] std::vector<Vertex> find_cycle(const Dag& dag);

/// Entries in an order that respects every edge. Boost.Graph topological_sort, which throws boost::not_a_dag on a cycle.
[[nodiscard]] std::vector<Vertex> topological_order(const Dag& dag);

/// Earliest start of every vertex as the longest path from the source, [vertex]; the sink's is the makespan. Boost.Graph
/// dag_shortest_paths with the order reversed.
[[nodiscard]] std::vector<Ticks> longest_paths(const Dag& dag, const std::vector<Ticks>& lags);

}  // namespace pipeloom::test
