#include "sim/analysis/dag.hpp"

#include <boost/graph/dag_shortest_paths.hpp>
#include <boost/graph/depth_first_search.hpp>
#include <boost/graph/graphviz.hpp>
#include <boost/graph/topological_sort.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include <pipeloom/error.hpp>
#include "sim/analysis/dag_boost.hpp"
#include "sim/dependency.hpp"
#include "sim/kinds.hpp"
#include "sim/text.hpp"

namespace pipeloom {

Dag::Dag(const Schedule& schedule) : schedule_(&schedule) {
  first_op_.reserve(schedule.num_entries() + 1);
  for_each_entry(schedule, 0, schedule.num_ops(),
                 [&](std::size_t first, std::size_t) { first_op_.push_back(first); });
  first_op_.push_back(schedule.num_ops());
  add_in_edges();
  index_out_edges();
}

void Dag::add_in_edges() {
  const Schedule& schedule = *schedule_;
  const DependencyMap dependencies(schedule);
  std::vector<Vertex> entry_of_op(schedule.num_ops());
  for (Vertex v = 0; v < source(); ++v)
    for (std::size_t i = first_op(v); i < last_op(v); ++i) entry_of_op[i] = v;

  edges_.reserve(num_entries() * 2 + static_cast<std::size_t>(schedule.ranks()));
  in_begin_.reserve(num_vertices() + 1);
  std::vector<Vertex> last_of_rank;
  Rank rank{-1};
  Vertex previous = source();  // in the rank's queue, copies left out
  Vertex copy = source();      // the rank's latest copy
  for (Vertex v = 0; v < source(); ++v) {
    in_begin_.push_back(static_cast<std::uint32_t>(edges_.size()));
    while (rank < Rank(0) || first_op(v) >= schedule.queue_end(rank)) {
      ++rank;
      previous = copy = source();
    }
    edges_.push_back({previous, v, 0, kQueueEdge});
    const bool beside = is_copy(schedule.ops()[first_op(v)].kind());
    if (beside && copy != source()) edges_.push_back({copy, v, 0, kQueueEdge});
    for (std::size_t i = first_op(v); i < last_op(v); ++i)
      for (const std::uint32_t producer : {dependencies.producer_of(i), dependencies.reload_of(i)})
        if (producer != DependencyMap::kNone)
          edges_.push_back({entry_of_op[producer], v, producer, static_cast<std::uint32_t>(i)});
    (beside ? copy : previous) = v;
    if (last_op(v) != schedule.queue_end(rank)) continue;
    if (previous != source()) last_of_rank.push_back(previous);
    if (copy != source()) last_of_rank.push_back(copy);
  }
  in_begin_.push_back(static_cast<std::uint32_t>(edges_.size()));  // nothing leads to the source
  in_begin_.push_back(static_cast<std::uint32_t>(edges_.size()));
  for (const Vertex v : last_of_rank) edges_.push_back({v, sink(), 0, kQueueEdge});
  in_begin_.push_back(static_cast<std::uint32_t>(edges_.size()));
  // in_begin_ now reads: entries, source, sink, end.
}

void Dag::index_out_edges() {
  out_begin_.assign(num_vertices() + 1, 0);
  for (const Edge& edge : edges_) ++out_begin_[edge.source + 1];
  for (std::size_t v = 0; v < num_vertices(); ++v) out_begin_[v + 1] += out_begin_[v];
  auto next = out_begin_;
  out_edges_.resize(edges_.size());
  for (std::uint32_t e = 0; e < edges_.size(); ++e) out_edges_[next[edges_[e].source]++] = e;
}

std::vector<Ticks> Dag::durations(const Costs& costs) const {
  std::vector<Ticks> durations;
  durations.reserve(num_entries());
  for (Vertex v = 0; v < source(); ++v)
    durations.push_back(costs.entry_duration(*schedule_, first_op(v), last_op(v)));
  return durations;
}

std::vector<Ticks> Dag::lags(const Costs& costs, const std::vector<Ticks>& durations) const {
  const Schedule& schedule = *schedule_;
  const bool one_by_one = costs.overlap.rule == OverlapRule::Sequential;
  const auto lane = [&](Vertex entry) {
    return lane_times(costs, schedule, first_op(entry), last_op(entry));
  };
  // From the start of its entry to the moment the producer's result is there.
  const auto visible_after = [&](Vertex entry, std::size_t producer) {
    const Ticks after = lane(entry).after;
    if (!one_by_one || after != 0) return durations[entry] + after;
    Ticks sum = 0;
    for (std::size_t i = first_op(entry); i <= producer; ++i)
      sum += costs.turn_duration(schedule, first_op(entry), i);
    return sum;
  };
  std::vector<Ticks> lags;
  lags.reserve(edges_.size());
  for (const Edge& edge : edges_) {
    const Ticks before = edge.target == sink() ? 0 : lane(edge.target).before;
    if (edge.source == source()) {
      lags.push_back(before);
    } else if (edge.consumer == kQueueEdge) {
      lags.push_back(durations[edge.source] + (edge.target == sink() ? 0 : lane(edge.source).after + before));
    } else {
      const Op consumer = schedule.ops()[edge.consumer];
      const bool is_copied = is_copy(schedule.ops()[edge.producer].kind());
      const Ticks delay = is_copied ? 0 : arrival_delay(costs, consumer.kind(), schedule.slot_of(consumer));
      lags.push_back(visible_after(edge.source, edge.producer) + delay + before);
    }
  }
  return lags;
}

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

namespace {

/// Vertex lines: label and the rank as a comment-like group attribute, which keeps a rank's ops in one row.
class VertexWriter {
 public:
  explicit VertexWriter(const Dag& dag) : dag_(dag) {}
  void operator()(std::ostream& out, Vertex v) const {
    if (v == dag_.source() || v == dag_.sink()) {
      out << (v == dag_.source() ? R"([label="start", shape=circle])" : R"([label="end", shape=circle])");
      return;
    }
    const Schedule& schedule = dag_.schedule();
    out << fmt::format(R"([label="{}", group="rank{}"])",
                       entry_text(schedule, dag_.first_op(v), dag_.last_op(v)),
                       schedule.rank_of_op(dag_.first_op(v)).value());
  }

 private:
  const Dag& dag_;
};

class EdgeWriter {
 public:
  explicit EdgeWriter(const Dag& dag) : dag_(dag) {}
  void operator()(std::ostream& out, DagTraits::edge_descriptor e) const {
    const Dag::Edge& edge = dag_.edge(e.number);
    if (edge.consumer == Dag::kQueueEdge) {
      out << "[style=dotted]";
      return;
    }
    const Schedule& schedule = dag_.schedule();
    if (schedule.rank_of_op(edge.producer) != schedule.rank_of_op(edge.consumer)) out << "[style=bold]";
  }

 private:
  const Dag& dag_;
};

struct GraphWriter {
  void operator()(std::ostream& out) const {
    out << "rankdir=LR;\nnode [shape=box, fontname=\"sans-serif\"];\n";
  }
};

}  // namespace

std::string to_dot(const Dag& dag) {
  std::ostringstream out;
  boost::write_graphviz(out, dag, VertexWriter(dag), EdgeWriter(dag), GraphWriter());
  return std::move(out).str();
}

}  // namespace pipeloom
