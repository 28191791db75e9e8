#include "sim/deadlock.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "sim/engine/wait_for.hpp"
#include "sim/tensor_index.hpp"
#include "sim/text.hpp"

namespace pipeloom {
namespace {

constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

/// next[i]: index into `blocked` of the rank that blocked[i] waits for.
std::vector<std::size_t> wait_links(const Deadlock& deadlock, int ranks) {
  std::vector<std::size_t> blocked_index(static_cast<std::size_t>(ranks), kNobody);
  for (std::size_t i = 0; i < deadlock.blocked.size(); ++i) blocked_index[deadlock.blocked[i].rank.at()] = i;
  std::vector<std::size_t> next;
  for (const auto& rank : deadlock.blocked)
    next.push_back(rank.missing ? kNobody : blocked_index[rank.on.at()]);
  return next;
}

/// The first cycle met when following `next` from each start in turn; every node has at most one successor.
std::vector<std::size_t> cycle_of(const std::vector<std::size_t>& next) {
  std::vector<std::size_t> met_from(next.size(), kNobody);
  for (std::size_t start = 0; start < next.size(); ++start) {
    std::size_t at = start;
    while (at != kNobody && met_from[at] == kNobody) {
      met_from[at] = start;
      at = next[at];
    }
    if (at == kNobody || met_from[at] != start) continue;
    std::vector<std::size_t> cycle = {at};
    for (std::size_t i = next[at]; i != at; i = next[i]) cycle.push_back(i);
    return cycle;
  }
  return {};
}

std::string wait_text(const BlockedRank& blocked, const Schedule& schedule) {
  const std::string waits_for = to_text(blocked.waits_for);
  const std::string where = blocked.missing              ? " which no rank runs"
                            : blocked.on == blocked.rank ? " later in its own queue"
                                                         : fmt::format(" of rank {}", blocked.on.value());
  return fmt::format("rank {} waits at {} for {}{}", blocked.rank.value(),
                     to_text(schedule.ops()[blocked.op]), waits_for, where);
}

}  // namespace

Deadlock explain_waits(const Schedule& schedule, const std::vector<Wait>& waits, std::size_t entries_done) {
  const TensorIndex index(schedule);
  std::unordered_map<std::size_t, std::vector<std::size_t>> waiting;  // tensor -> positions in blocked
  Deadlock deadlock;
  deadlock.entries_done = entries_done;
  for (const Wait& wait : waits) {
    waiting[wait.tensor].push_back(deadlock.blocked.size());
    deadlock.blocked.push_back({wait.rank, wait.op, index.producer_of(wait.tensor), wait.rank, true});
  }
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
    for (const Op op : schedule.queue(rank)) {
      const auto found = waiting.find(index.output_of(op));
      if (found == waiting.end()) continue;
      for (const std::size_t i : found->second) {
        deadlock.blocked[i].waits_for = op.with_joined(false);
        deadlock.blocked[i].on = rank;
        deadlock.blocked[i].missing = false;
      }
    }
  deadlock.cycle = cycle_of(wait_links(deadlock, schedule.ranks()));
  return deadlock;
}

std::string describe(const Deadlock& deadlock, const Schedule& schedule) {
  constexpr std::size_t kMostShown = 8;
  std::string text;
  const auto& chain = deadlock.cycle;
  if (chain.empty()) {
    for (const auto& blocked : deadlock.blocked)
      if (blocked.missing) return wait_text(blocked, schedule);
    return "no rank can go on";
  }
  for (std::size_t i = 0; i < chain.size() && i < kMostShown; ++i)
    text += (i == 0 ? "" : ", ") + wait_text(deadlock.blocked[chain[i]], schedule);
  if (chain.size() > kMostShown) text += fmt::format(", ... {} more ranks", chain.size() - kMostShown);
  return chain.size() == 1 ? text : text + ": a cycle";
}

}  // namespace pipeloom
