#include "sim/critical_path.hpp"

#include <algorithm>

namespace pipeloom {

CriticalPath critical_path(const Timeline& timeline, const Costs& costs) {
  return critical_path(timeline, TimedDag(*timeline.schedule, costs));
}

CriticalPath critical_path(const Timeline& timeline, const TimedDag& graph) {
  const Dag& dag = graph.dag;
  const auto ready = [&](std::uint32_t e) {
    const Vertex from = dag.edge(e).source;
    return graph.lags[e] + (from == dag.source() ? 0 : timeline.start_of(dag.first_op(from)));
  };
  // Edges are numbered by target, queue edge first: the first of the largest is the one that stays on the rank.
  const auto last_edge_into = [&](Vertex v) {
    std::uint32_t last = dag.in_begin(v);
    for (std::uint32_t e = last + 1; e < dag.in_begin(v + 1); ++e)
      if (ready(e) > ready(last)) last = e;
    return last;
  };
  CriticalPath path;
  if (dag.num_entries() == 0) return path;
  std::uint32_t edge = last_edge_into(dag.sink());
  path.length = std::max(Ticks{0}, ready(edge));
  for (Vertex v = dag.edge(edge).source; v != dag.source(); v = dag.edge(edge).source) {
    path.entries.push_back(dag.first_op(v));
    edge = last_edge_into(v);
  }
  std::reverse(path.entries.begin(), path.entries.end());
  return path;
}

std::vector<Ticks> slack(const Timeline& timeline, const Costs& costs) {
  const Schedule& schedule = *timeline.schedule;
  const Dag dag(schedule);
  const auto lags = dag.lags(costs);
  const auto earliest = longest_paths(dag, lags);
  // Latest starts, from the sink backwards: no successor may be pushed.
  std::vector<Ticks> latest(dag.num_vertices(), earliest[dag.sink()]);
  const auto order = topological_order(dag);
  for (auto v = order.rbegin(); v != order.rend(); ++v)
    for (const std::uint32_t e : dag.out(*v))
      latest[*v] = std::min(latest[*v], latest[dag.edge(e).target] - lags[e]);
  std::vector<Ticks> slack(schedule.num_ops());
  for (Vertex v = 0; v < dag.source(); ++v)
    std::fill(slack.begin() + static_cast<std::ptrdiff_t>(dag.first_op(v)),
              slack.begin() + static_cast<std::ptrdiff_t>(dag.last_op(v)), latest[v] - earliest[v]);
  return slack;
}

}  // namespace pipeloom
