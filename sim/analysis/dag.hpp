#pragma once

// The dependency graph of a schedule: the independent reference for the engine and for code that walks the queues (bounds, critical path, slack
// in sim/analysis/entry_edges.hpp), which tests compare with paths over it, and the graph that DOT pictures show.
//
// Vertices 0 .. E-1 are the entries in queue order, rank by rank; E is the source, E+1 the sink. Edges: source ->
// first entry of each rank, entry -> next entry of its rank, last entry -> sink, and producer -> consumer for each
// op's tensor. A copy (O, L) hangs beside the queue: the entry before it -> copy, copy -> next copy of its rank, L -> the B, I or
// of its activation; the entries after it do not wait for it. Compressed sparse rows in both directions; sim/analysis/dag_boost.hpp makes it a
// Boost.Graph graph.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <pipeloom/schedule.hpp>

namespace pipeloom {

/// Vertex and edge numbers; 32 bits hold graphs of up to 4e9 edges.
using Vertex = std::uint32_t;

class Dag {
 public:
  struct Edge {
    Vertex source = 0;
    Vertex target = 0;
    /// Op indices of a data edge; kQueueEdge in `consumer` marks an edge along a queue (or from the source or to the
    /// sink), whose `producer` is unused.
    std::uint32_t producer = 0;
    std::uint32_t consumer = 0;
  };
  static constexpr std::uint32_t kQueueEdge = ~std::uint32_t{0};

  /// REQUIRES: no structural errors (validate_structure); the schedule outlives the graph. Cycles are allowed.
  explicit Dag(const Schedule& schedule);

  [[nodiscard]] const Schedule& schedule() const { return *schedule_; }
  [[nodiscard]] std::size_t num_vertices() const { return first_op_.size() + 1; }
  [[nodiscard]] std::size_t num_entries() const { return num_vertices() - 2; }
  [[nodiscard]] std::size_t num_edges() const { return edges_.size(); }
  [[nodiscard]] Vertex source() const { return static_cast<Vertex>(num_entries()); }
  [[nodiscard]] Vertex sink() const { return source() + 1; }

  /// Op indices [first_op(v), first_op(v + 1)) are the ops of entry v.
  [[nodiscard]] std::size_t first_op(Vertex entry) const { return first_op_[entry]; }
  [[nodiscard]] std::size_t last_op(Vertex entry) const { return first_op_[entry + 1]; }

  /// Edges are numbered by target, then in the order: queue edge, data edges of the entry's ops.
  [[nodiscard]] const Edge& edge(std::uint32_t e) const { return edges_[e]; }
  [[nodiscard]] std::span<const Edge> edges() const { return edges_; }
  /// Numbers of the edges into v: [in_begin(v), in_begin(v + 1)).
  [[nodiscard]] std::uint32_t in_begin(Vertex v) const { return in_begin_[v]; }
  /// Numbers of the edges out of v.
  [[nodiscard]] std::span<const std::uint32_t> out(Vertex v) const {
    return std::span<const std::uint32_t>(out_edges_)
        .subspan(out_begin_[v], out_begin_[v + 1] - out_begin_[v]);
  }

 private:
  void add_in_edges();
  void index_out_edges();

  const Schedule* schedule_;
  std::vector<std::size_t> first_op_;  // E + 1
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> in_begin_;   // V + 1
  std::vector<std::uint32_t> out_begin_;  // V + 1
  std::vector<std::uint32_t> out_edges_;
};

/// Graphviz text: the ops of a rank in one row, queue edges dotted, transfers between ranks bold. Boost.Graph write_graphviz.
[[nodiscard]] std::string to_dot(const Dag& dag);

}  // namespace pipeloom
