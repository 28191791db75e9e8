#include "tests/support/dag_paths.hpp"

#include <boost/graph/dag_shortest_paths.hpp>
#include <boost/graph/depth_first_search.hpp>
#include <boost/graph/topological_sort.hpp>

#include <algorithm>
#include <functional>

#include "sim/analysis/dag_boost.hpp"
#include "sim/dependency.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::test {
namespace {

constexpr Ticks kUnreached = -kMaxTicks;

/// lags[e] as a readable property map over edges.
class LagMap {
 public:
  using key_type = DagTraits::edge_descriptor;
  using value_type = Ticks;
  using reference = Ticks;
  using category = boost::readable_property_map_tag;
  explicit LagMap(const std::vector<Ticks>& lags) : lags_(lags.data()) {}
  friend Ticks get(const LagMap& map, key_type e) { return map.lags_[e.number]; }

 private:
  const Ticks* lags_;
};

/// Stops the search at the first edge back into the current path.
struct CycleFound {
  Vertex from;
  Vertex to;
};

class CycleVisitor : public boost::default_dfs_visitor {
 public:
  explicit CycleVisitor(std::vector<Vertex>& parent) : parent_(&parent) {}
  void tree_edge(DagTraits::edge_descriptor e, const Dag& dag) const {
    (*parent_)[target(e, dag)] = source(e, dag);
  }
  void back_edge(DagTraits::edge_descriptor e, const Dag& dag) const {
    throw CycleFound{source(e, dag), target(e, dag)};
  }

 private:
  std::vector<Vertex>* parent_;
};

/// Longest path lengths add like shortest ones, except that nothing reached stays unreached.
struct Lengthen {
  Ticks operator()(Ticks length, Ticks lag) const { return length == kUnreached ? kUnreached : length + lag; }
};

}  // namespace

std::vector<Ticks> durations_of(const Dag& dag, const Costs& costs) {
  std::vector<Ticks> durations;
  for (Vertex v = 0; v < dag.source(); ++v)
    durations.push_back(costs.entry_duration(dag.schedule(), dag.first_op(v), dag.last_op(v)));
  return durations;
}

std::vector<Ticks> lags_of(const Dag& dag, const Costs& costs) {
  const Schedule& schedule = dag.schedule();
  const std::vector<Ticks> durations = durations_of(dag, costs);
  const bool one_by_one = costs.overlap.rule == OverlapRule::Sequential;
  const auto lane = [&](Vertex entry) {
    return lane_times(costs, schedule, dag.first_op(entry), dag.last_op(entry));
  };
  // From the start of its entry to the moment the producer's result is there.
  const auto visible_after = [&](Vertex entry, std::size_t producer) {
    const Ticks after = lane(entry).after;
    if (!one_by_one || after != 0) return durations[entry] + after;
    Ticks sum = 0;
    for (std::size_t i = dag.first_op(entry); i <= producer; ++i)
      sum += costs.turn_duration(schedule, dag.first_op(entry), i);
    return sum;
  };
  std::vector<Ticks> lags;
  lags.reserve(dag.num_edges());
  for (const Dag::Edge& edge : dag.edges()) {
    const bool to_sink = edge.target == dag.sink();
    const Ticks before = to_sink ? 0 : lane(edge.target).before;
    if (edge.source == dag.source()) {
      lags.push_back(before);
    } else if (edge.consumer == Dag::kQueueEdge) {
      lags.push_back(durations[edge.source] + (to_sink ? 0 : lane(edge.source).after + before));
    } else {
      const Op consumer = schedule.ops()[edge.consumer];
      const bool is_copied = is_copy(schedule.ops()[edge.producer].kind());
      const Ticks delay = is_copied ? 0 : arrival_delay(costs, consumer, schedule.slot_of(consumer));
      lags.push_back(visible_after(edge.source, edge.producer) + delay + before);
    }
  }
  return lags;
}

std::vector<Vertex> find_cycle(const Dag& dag) {
  std::vector<Vertex> parent(dag.num_vertices(), dag.source());
  try {
    boost::depth_first_search(dag, boost::visitor(CycleVisitor(parent)));
  } catch (const CycleFound& found) {
    std::vector<Vertex> cycle;
    for (Vertex v = found.from; v != found.to; v = parent[v]) cycle.push_back(v);
    cycle.push_back(found.to);
    std::reverse(cycle.begin(), cycle.end());
    return cycle;
  }
  return {};
}

std::vector<Vertex> topological_order(const Dag& dag) {
  std::vector<Vertex> order;
  order.reserve(dag.num_vertices());
  boost::topological_sort(dag, std::back_inserter(order));
  std::reverse(order.begin(), order.end());
  order.erase(std::remove_if(order.begin(), order.end(), [&](Vertex v) { return v >= dag.source(); }),
              order.end());
  return order;
}

std::vector<Ticks> longest_paths(const Dag& dag, const std::vector<Ticks>& lags) {
  std::vector<Ticks> distance(dag.num_vertices(), kUnreached);
  std::vector<Vertex> parents(dag.num_vertices());
  const auto index = get(boost::vertex_index, dag);
  boost::dag_shortest_paths(dag, dag.source(),
                            boost::weight_map(LagMap(lags))
                                .distance_map(boost::make_iterator_property_map(distance.begin(), index))
                                .predecessor_map(boost::make_iterator_property_map(parents.begin(), index))
                                .distance_compare(std::greater<>())
                                .distance_combine(Lengthen())
                                .distance_inf(kUnreached)
                                .distance_zero(Ticks{0}));
  return distance;
}

}  // namespace pipeloom::test
