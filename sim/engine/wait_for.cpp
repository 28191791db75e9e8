#include "sim/engine/wait_for.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include <pipeloom/schedule.hpp>
#include "sim/tensor_index.hpp"
#include "sim/wait_graph.hpp"

namespace pipeloom {
namespace {

std::string wait_text(const WaitNode<Op>& node, const Schedule& schedule) {
  const std::string where = node.missing           ? " which no rank runs"
                            : node.on == node.rank ? " later in its own queue"
                                                   : fmt::format(" of rank {}", node.on.value());
  return fmt::format("rank {} waits at {} for {}{}", node.rank.value(), to_text(schedule.ops()[node.at]),
                     to_text(node.needs), where);
}

}  // namespace

ScheduleHang explain_waits(const Schedule& schedule, const std::vector<Wait>& waits,
                           std::size_t entries_done) {
  const TensorIndex index(schedule);
  std::unordered_map<std::size_t, std::vector<std::size_t>> waiting;  // tensor -> positions in nodes
  std::vector<std::size_t> reached(static_cast<std::size_t>(schedule.ranks()),
                                   schedule.num_ops());  // [rank] op index
  ScheduleHang hang;
  hang.done = entries_done;
  for (const Wait& wait : waits) {
    waiting[wait.tensor].push_back(hang.nodes.size());
    std::size_t first = wait.op;
    while (first > schedule.queue_begin(wait.rank) && schedule.ops()[first - 1].joined()) --first;
    reached[wait.rank.at()] = first;
    hang.nodes.push_back({wait.rank, wait.op, index.producer_of(wait.tensor), wait.rank, true});
  }
  // Of several that write parts of a tensor, one that has not run.
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
    for (std::size_t at = reached[rank.at()]; at < schedule.queue_end(rank); ++at) {
      const Op op = schedule.ops()[at];
      const auto found = waiting.find(index.output_of(op));
      if (found == waiting.end()) continue;
      for (const std::size_t i : found->second) {
        hang.nodes[i].needs = op.with_joined(false);
        hang.nodes[i].on = rank;
        hang.nodes[i].missing = false;
      }
    }
  hang.cycle = cycle_of(hang.nodes);
  return hang;
}

std::string describe(const ScheduleHang& hang, const Schedule& schedule) {
  constexpr std::size_t kMostShown = 8;
  std::string text;
  const auto& chain = hang.cycle;
  if (chain.empty()) {
    for (const auto& node : hang.nodes)
      if (node.missing) return wait_text(node, schedule);
    return "no rank can go on";
  }
  for (std::size_t i = 0; i < chain.size() && i < kMostShown; ++i)
    text += (i == 0 ? "" : ", ") + wait_text(hang.nodes[chain[i]], schedule);
  if (chain.size() > kMostShown) text += fmt::format(", ... {} more ranks", chain.size() - kMostShown);
  return chain.size() == 1 ? text : text + ": a cycle";
}

}  // namespace pipeloom
