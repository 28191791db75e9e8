#include "sim/wait_graph.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace pipeloom::wait_graph_test {
namespace {

using Nodes = std::vector<WaitNode<char>>;

constexpr bool kMissing = true;

WaitNode<char> waits(int rank, int on, bool missing = false) {
  return {Rank(rank), 0, static_cast<char>('a' + on), Rank(on), missing};
}

WaitGraph<char> graph_of(Nodes nodes) {
  WaitGraph<char> graph{std::move(nodes), {}, 0};
  graph.cycle = cycle_of(graph.nodes);
  return graph;
}

std::vector<std::string> lines_of(const WaitGraph<char>& graph) {
  return wait_lines(graph, [](const WaitNode<char>& node) {
    return fmt::format("{} for {}", node.rank.value(), node.needs);
  });
}

}  // namespace

TEST_CASE("the cycle begins where the first chain of waits enters it") {
  // 0 -> 3 -> 5 -> 2 -> 3: ranks 1 and 4 are done, so rank 3 is node 2, rank 5 node 3 and rank 2 node 1.
  const auto graph = graph_of({waits(0, 3), waits(2, 3), waits(3, 5), waits(5, 2)});
  CHECK(graph.cycle == std::vector<std::size_t>{2, 3, 1});
  CHECK(lines_of(graph) ==
        std::vector<std::string>{"3 for f, which", "5 for c, which", "2 for d: the cycle closes", "0 for d"});
}

TEST_CASE("a rank that waits for itself is a cycle of one") {
  const auto graph = graph_of({waits(0, 1), waits(1, 1)});
  CHECK(graph.cycle == std::vector<std::size_t>{1});
  CHECK(lines_of(graph) == std::vector<std::string>{"1 for b: the cycle closes", "0 for b"});
}

TEST_CASE("waits that end at something missing are no cycle, and it is read first") {
  const auto graph = graph_of({waits(0, 1), waits(1, 0, kMissing), waits(2, 1)});
  CHECK(graph.cycle.empty());
  CHECK(lines_of(graph) == std::vector<std::string>{"1 for a", "0 for b", "2 for b"});
}

TEST_CASE("of two cycles the one that the first rank comes to is taken") {
  // 0 -> 3 <-> 4, 1 <-> 2.
  const auto graph = graph_of({waits(0, 3), waits(1, 2), waits(2, 1), waits(3, 4), waits(4, 3)});
  CHECK(graph.cycle == std::vector<std::size_t>{3, 4});
}

TEST_CASE("a rank that is done holds nobody up for ever") {
  CHECK(graph_of({waits(0, 2), waits(1, 7)}).cycle.empty());
}

}  // namespace pipeloom::wait_graph_test
