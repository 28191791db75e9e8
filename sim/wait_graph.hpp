#pragma once

// The graph of waits when ranks hang: the same for the entries of a schedule, the instructions of a program and PyTorch's actions.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <pipeloom/simulate.hpp>

namespace pipeloom {

/// The first cycle met when following the waits from each node in turn. O(nodes): a rank waits for one other at most.
template <class Needed>
[[nodiscard]] std::vector<std::size_t> cycle_of(const std::vector<WaitNode<Needed>>& nodes) {
  const std::size_t nobody = nodes.size();
  std::vector<std::size_t> node_of_rank;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (node_of_rank.size() <= nodes[i].rank.at()) node_of_rank.resize(nodes[i].rank.at() + 1, nobody);
    node_of_rank[nodes[i].rank.at()] = i;
  }
  const auto next = [&](std::size_t i) {
    const bool ends = nodes[i].missing || nodes[i].on.at() >= node_of_rank.size();
    return ends ? nobody : node_of_rank[nodes[i].on.at()];
  };
  std::vector<std::size_t> met_from(nodes.size(), nobody);
  for (std::size_t start = 0; start < nodes.size(); ++start) {
    std::size_t at = start;
    while (at != nobody && met_from[at] == nobody) {
      met_from[at] = start;
      at = next(at);
    }
    if (at == nobody || met_from[at] != start) continue;
    std::vector<std::size_t> cycle = {at};
    for (std::size_t i = next(at); i != at; i = next(i)) cycle.push_back(i);
    return cycle;
  }
  return {};
}

/// Indices of all nodes as people want to read them: the cycle, then those that wait for something missing, where it all begins if there
/// is no cycle, then the others in rank order.
template <class Needed>
[[nodiscard]] std::vector<std::size_t> reading_order(const WaitGraph<Needed>& graph) {
  std::vector<std::size_t> order = graph.cycle;
  for (const bool missing : {true, false})
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      if (graph.nodes[i].missing == missing &&
          std::find(graph.cycle.begin(), graph.cycle.end(), i) == graph.cycle.end())
        order.push_back(i);
  return order;
}

/// A line for each rank in reading_order(). `words` takes a node and returns "rank 2 waits at 2F3 for ..."; nodes of the cycle get ", which"
/// after it, the last of them ": the cycle closes".
template <class Needed, std::invocable<const WaitNode<Needed>&> Words>
[[nodiscard]] std::vector<std::string> wait_lines(const WaitGraph<Needed>& graph, const Words& words) {
  std::vector<std::string> lines;
  for (const std::size_t i : reading_order(graph)) {
    const std::size_t before = lines.size();
    std::string line = words(graph.nodes[i]);
    if (before < graph.cycle.size())
      line += before + 1 == graph.cycle.size() ? ": the cycle closes" : ", which";
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace pipeloom
