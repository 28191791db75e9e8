#include <boost/graph/dag_shortest_paths.hpp>
#include <boost/graph/depth_first_search.hpp>
#include <boost/graph/topological_sort.hpp>

#include <algorithm>
#include <functional>

#include <pipeloom/error.hpp>
#include "sim/analysis/dag.hpp"
#include "sim/analysis/dag_boost.hpp"

namespace pipeloom {
namespace {

constexpr Ticks kUnreached = -kMaxTicks;

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
  try {
    boost::topological_sort(dag, std::back_inserter(order));
  } catch (const boost::not_a_dag&) {
    throw ScheduleError("the queues wait for each other in a cycle; pipeloom validate names it");
  }
  std::reverse(order.begin(), order.end());
  order.erase(std::remove_if(order.begin(), order.end(), [&](Vertex v) { return v >= dag.source(); }),
              order.end());
  return order;
}

std::vector<Ticks> longest_paths(const Dag& dag, const std::vector<Ticks>& lags,
                                 std::vector<Vertex>* parent) {
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
  if (parent != nullptr) *parent = std::move(parents);
  return distance;
}

}  // namespace pipeloom
