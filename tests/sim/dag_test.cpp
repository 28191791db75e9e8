#include "sim/analysis/dag.hpp"

#include <boost/concept/assert.hpp>
#include <boost/graph/exception.hpp>
#include <boost/graph/graph_concepts.hpp>
#include <boost/range/iterator_range.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/analysis/dag_boost.hpp"
#include "sim/text.hpp"
#include "support/catch.hpp"
#include "support/dag_paths.hpp"
#include "support/random_problem.hpp"
#include "support/scenes.hpp"

namespace pipeloom::dag_test {
namespace {

BOOST_CONCEPT_ASSERT((boost::VertexListGraphConcept<Dag>));
BOOST_CONCEPT_ASSERT((boost::EdgeListGraphConcept<Dag>));
BOOST_CONCEPT_ASSERT((boost::IncidenceGraphConcept<Dag>));

using test::scene;

std::string name_of(const Dag& dag, Vertex v) {
  if (v == dag.source()) return "start";
  if (v == dag.sink()) return "end";
  return entry_text(dag.schedule(), dag.first_op(v), dag.last_op(v));
}

/// "0F0>1F0" for every edge; an edge along a queue is written with "-".
std::set<std::string> edges_of(const Dag& dag) {
  std::set<std::string> edges;
  for (const auto& edge : dag.edges())
    edges.insert(name_of(dag, edge.source) + (edge.consumer == Dag::kQueueEdge ? "-" : ">") +
                 name_of(dag, edge.target));
  return edges;
}

}  // namespace

TEST_CASE("edges follow queues and tensors") {
  const auto schedule = scene("0F0 0B0 | 1F0 1I0 1W0");
  const Dag dag(*schedule);
  CHECK(dag.num_entries() == 5);
  CHECK(dag.num_vertices() == 7);
  CHECK(edges_of(dag) == std::set<std::string>{"start-0F0", "0F0-0B0", "0B0-end", "start-1F0", "1F0-1I0",
                                               "1I0-1W0", "1W0-end", "0F0>1F0", "1F0>1I0", "1I0>0B0",
                                               "1I0>1W0"});
  CHECK(dag.num_edges() == 11);
}

TEST_CASE("a group is one vertex with the edges of all its ops") {
  const auto schedule = scene("0F0 (0F1;0B0)OVERLAP_F_B 0B1 | 1F0 1B0 1F1 1B1");
  const Dag dag(*schedule);
  const auto edges = edges_of(dag);
  CHECK(edges.contains("1B0>(0F1;0B0)OVERLAP_F_B"));
  CHECK(edges.contains("(0F1;0B0)OVERLAP_F_B>1F1"));
  CHECK(dag.num_entries() == 7);
}

TEST_CASE("edges in and out of a vertex are the same edges") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto problem = test::random_problem(2'100'000 + seed);
    const Dag dag(*problem.schedule);
    INFO("seed " << seed);
    std::size_t into = 0;
    std::size_t out_of = 0;
    for (const Vertex v : boost::make_iterator_range(vertices(dag))) {
      for (auto e = dag.in_begin(v); e < dag.in_begin(v + 1); ++e) REQUIRE(dag.edge(e).target == v);
      for (const auto e : boost::make_iterator_range(out_edges(v, dag))) REQUIRE(source(e, dag) == v);
      into += dag.in_begin(v + 1) - dag.in_begin(v);
      out_of += out_degree(v, dag);
    }
    REQUIRE(into == dag.num_edges());
    REQUIRE(out_of == dag.num_edges());
    REQUIRE(std::distance(edges(dag).first, edges(dag).second) ==
            static_cast<std::ptrdiff_t>(dag.num_edges()));
    REQUIRE(dag.in_begin(dag.source()) == dag.in_begin(dag.sink()));
    REQUIRE(out_degree(dag.sink(), dag) == 0);
  }
}

TEST_CASE("ranks without ops leave no edges") {
  ScheduleBuilder out(Placement::linear(3), 1);
  out.begin_rank(Rank(0));
  out.begin_rank(Rank(1)).add(forward(Stage(0), Microbatch(0)));
  out.begin_rank(Rank(2));
  const Schedule schedule = std::move(out).build();
  CHECK(edges_of(Dag(schedule)) == std::set<std::string>{"start-0F0", "0F0-end"});
}

TEST_CASE("a topological order has every entry after what it depends on") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto problem = test::random_problem(2'200'000 + seed);
    const Dag dag(*problem.schedule);
    INFO("seed " << seed);
    const auto order = test::topological_order(dag);
    REQUIRE(order.size() == dag.num_entries());
    std::vector<std::size_t> place(dag.num_vertices(), 0);
    for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i + 1;
    REQUIRE(std::count(place.begin(), place.begin() + dag.source(), 0U) == 0);
    for (const auto& edge : dag.edges())
      if (edge.target != dag.sink()) REQUIRE(place[edge.source] < place[edge.target]);
    REQUIRE(test::find_cycle(dag).empty());
  }
}

TEST_CASE("a cycle is found and is one") {
  const auto schedule = scene("0F0 0B0 0F1 0B1 | 1F0 1F1 1B0 1B1");
  const Dag dag(*schedule);
  std::set<std::string> names;
  for (const Vertex v : test::find_cycle(dag)) names.insert(name_of(dag, v));
  // 0B0 waits for 1B0, behind 1F1, which waits for 0F1, behind 0B0.
  CHECK(names == std::set<std::string>{"0B0", "0F1", "1F1", "1B0"});
  CHECK_THROWS_AS(test::topological_order(dag), boost::not_a_dag);
}

TEST_CASE("an entry that needs its own result is a cycle of one") {
  const auto schedule = scene("(0F0;1F0)OVERLAP");
  CHECK(test::find_cycle(Dag(*schedule)).size() == 1);
}

TEST_CASE("lags are durations, plus the delay of the hop for tensors") {
  const auto schedule = scene("0F0 0B0 | 1F0 1B0");
  const Dag dag(*schedule);
  const auto lags =
      test::lags_of(dag, uniform_costs(schedule->placement(), {.forward = 2, .backward = 3, .delay = 10}));
  for (std::uint32_t e = 0; e < dag.num_edges(); ++e) {
    const auto& edge = dag.edge(e);
    const std::string name = name_of(dag, edge.source) + ">" + name_of(dag, edge.target);
    if (name == "start>0F0") CHECK(lags[e] == 0);
    if (name == "0F0>1F0") CHECK(lags[e] == 12);
    if (name == "1B0>0B0") CHECK(lags[e] == 13);
    if (name == "1F0>1B0") CHECK(lags[e] == 2);
    if (name == "0B0>end") CHECK(lags[e] == 3);
  }
}

TEST_CASE("a sequential group's first part is visible before its last") {
  const auto schedule = scene("0F0 (0F1;0B0)OVERLAP_F_B 0B1 | 1F0 1B0 1F1 1B1");
  const Dag dag(*schedule);
  Overlap sequential;
  sequential.rule = OverlapRule::Sequential;
  const auto lags = test::lags_of(
      dag, uniform_costs(schedule->placement(), {.forward = 2, .backward = 3, .overlap = sequential}));
  for (std::uint32_t e = 0; e < dag.num_edges(); ++e) {
    const auto& edge = dag.edge(e);
    if (name_of(dag, edge.source) != "(0F1;0B0)OVERLAP_F_B") continue;
    CHECK(lags[e] == (name_of(dag, edge.target) == "1F1" ? 2 : 5));
  }
}

TEST_CASE("DOT names ranks and tells queues from transfers") {
  const auto schedule = scene("0F0 0B0 | 1F0 1B0");
  CHECK(to_dot(Dag(*schedule)) ==
        "digraph G {\n"
        "rankdir=LR;\n"
        "node [shape=box, fontname=\"sans-serif\"];\n"
        "0[label=\"0F0\", group=\"rank0\"];\n"
        "1[label=\"0B0\", group=\"rank0\"];\n"
        "2[label=\"1F0\", group=\"rank1\"];\n"
        "3[label=\"1B0\", group=\"rank1\"];\n"
        "4[label=\"start\", shape=circle];\n"
        "5[label=\"end\", shape=circle];\n"
        "4->0 [style=dotted];\n"
        "0->1 [style=dotted];\n"
        "3->1 [style=bold];\n"
        "4->2 [style=dotted];\n"
        "0->2 [style=bold];\n"
        "2->3 [style=dotted];\n"
        "2->3 ;\n"
        "1->5 [style=dotted];\n"
        "3->5 [style=dotted];\n"
        "}\n");
}

}  // namespace pipeloom::dag_test
