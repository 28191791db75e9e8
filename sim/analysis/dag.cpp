#include "sim/analysis/dag.hpp"

#include <boost/graph/graphviz.hpp>
#include <fmt/format.h>

#include <sstream>

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
    for (std::size_t i = first_op(v); i < last_op(v); ++i) {
      const auto add_edge = [&](std::uint32_t producer) {
        edges_.push_back({entry_of_op[producer], v, producer, static_cast<std::uint32_t>(i)});
      };
      dependencies.each_producer(i, add_edge);
      if (const std::uint32_t reload = dependencies.reload_of(i); reload != DependencyMap::kNone)
        add_edge(reload);
    }
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
