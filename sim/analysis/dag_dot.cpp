#include <boost/graph/graphviz.hpp>
#include <fmt/format.h>

#include <sstream>

#include "sim/analysis/dag.hpp"
#include "sim/analysis/dag_boost.hpp"
#include "sim/text.hpp"

namespace pipeloom {
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
