#include "tests/sim/graph_references.hpp"

#include <algorithm>
#include <map>

#include <pipeloom/metrics.hpp>
#include "sim/kinds.hpp"
#include "support/dag_paths.hpp"

namespace pipeloom::test {
namespace {

bool is_data(const Dag& dag, std::uint32_t e) {
  return dag.edge(e).consumer != Dag::kQueueEdge;
}

/// Entries in an order that respects the data edges; queues may want another.
std::vector<Vertex> data_order(const Dag& dag) {
  std::vector<std::uint32_t> missing(dag.num_entries(), 0);
  for (std::uint32_t e = 0; e < dag.num_edges(); ++e)
    if (is_data(dag, e)) ++missing[dag.edge(e).target];
  std::vector<Vertex> order;
  for (Vertex v = 0; v < dag.source(); ++v)
    if (missing[v] == 0) order.push_back(v);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const std::uint32_t e : dag.out(order[i]))
      if (is_data(dag, e) && --missing[dag.edge(e).target] == 0) order.push_back(dag.edge(e).target);
  return order;
}

}  // namespace

std::vector<std::vector<ChainJob>> chain_jobs(const Schedule& schedule, const Costs& costs) {
  const Chains chains(schedule, costs);
  std::vector<std::vector<ChainJob>> jobs;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) jobs.push_back(chains.jobs(rank));
  return jobs;
}

std::vector<std::vector<ChainJob>> graph_chain_jobs(const Schedule& schedule, const Costs& costs) {
  const Dag dag(schedule);
  const auto durations = durations_of(dag, costs);
  const auto lags = lags_of(dag, costs);
  const auto order = data_order(dag);
  std::vector<Ticks> head(dag.num_entries(), 0);
  std::vector<Ticks> tail(dag.num_entries(), 0);
  for (const Vertex v : order)
    for (std::uint32_t e = dag.in_begin(v); e < dag.in_begin(v + 1); ++e)
      if (is_data(dag, e)) head[v] = std::max(head[v], head[dag.edge(e).source] + lags[e]);
  for (auto v = order.rbegin(); v != order.rend(); ++v)
    for (const std::uint32_t e : dag.out(*v)) {
      if (!is_data(dag, e)) continue;
      const Vertex next = dag.edge(e).target;
      tail[*v] = std::max(tail[*v], lags[e] - durations[*v] + durations[next] + tail[next]);
    }
  std::vector<std::vector<ChainJob>> jobs;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    std::map<std::pair<Ticks, Ticks>, ChainJob> merged;
    for (Vertex v = 0; v < dag.source(); ++v) {
      const std::size_t op = dag.first_op(v);
      if (schedule.rank_of_op(op) != rank || is_copy(schedule.ops()[op].kind())) continue;
      ChainJob& job = merged[{head[v], tail[v]}];
      job.head = head[v];
      job.tail = tail[v];
      job.work += durations[v];
      job.longest = std::max(job.longest, durations[v]);
    }
    auto& list = jobs.emplace_back();
    for (const auto& [key, job] : merged) list.push_back(job);
  }
  return jobs;
}

CriticalPath graph_critical_path(const Timeline& timeline, const Costs& costs) {
  const Dag dag(*timeline.schedule);
  const auto lags = lags_of(dag, costs);
  const auto ready = [&](std::uint32_t e) {
    const Vertex from = dag.edge(e).source;
    return lags[e] + (from == dag.source() ? 0 : timeline.start_of(dag.first_op(from)));
  };
  // Edges are numbered by target, queue edge first: the first of the largest is the one that stays on the rank.
  const auto last_edge_into = [&](Vertex v) {
    std::uint32_t last = dag.in_begin(v);
    for (std::uint32_t e = last + 1; e < dag.in_begin(v + 1); ++e)
      if (ready(e) > ready(last)) last = e;
    return last;
  };
  CriticalPath path;
  std::uint32_t edge = last_edge_into(dag.sink());
  path.length = std::max(Ticks{0}, ready(edge));
  for (Vertex v = dag.edge(edge).source; v != dag.source(); v = dag.edge(edge).source) {
    path.entries.push_back(dag.first_op(v));
    edge = last_edge_into(v);
  }
  std::reverse(path.entries.begin(), path.entries.end());
  return path;
}

std::vector<Ticks> graph_slack(const Schedule& schedule, const Costs& costs) {
  const Dag dag(schedule);
  const auto lags = lags_of(dag, costs);
  const auto earliest = longest_paths(dag, lags);
  std::vector<Ticks> latest(dag.num_vertices(), earliest[dag.sink()]);
  const auto order = topological_order(dag);
  for (auto v = order.rbegin(); v != order.rend(); ++v)
    for (const std::uint32_t e : dag.out(*v))
      latest[*v] = std::min(latest[*v], latest[dag.edge(e).target] - lags[e]);
  std::vector<Ticks> slack(schedule.num_ops());
  for (Vertex v = 0; v < dag.source(); ++v)
    for (std::size_t op = dag.first_op(v); op < dag.last_op(v); ++op) slack[op] = latest[v] - earliest[v];
  return slack;
}

}  // namespace pipeloom::test
