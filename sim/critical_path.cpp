#include "sim/critical_path.hpp"

#include <algorithm>

namespace pipeloom {

CriticalPath critical_path(const Timeline& timeline, const Costs& costs) {
  return critical_path(TimedDag(*timeline.schedule, costs));
}

CriticalPath critical_path(const TimedDag& graph) {
  const Dag& dag = graph.dag;
  std::vector<Vertex> parent;
  const auto distance = longest_paths(dag, graph.lags, &parent);
  CriticalPath path;
  path.length = std::max(Ticks{0}, distance[dag.sink()]);
  for (Vertex v = parent[dag.sink()]; v < dag.source(); v = parent[v])
    path.entries.push_back(dag.first_op(v));
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
