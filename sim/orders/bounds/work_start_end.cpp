// A rank's work, and idle time that it cannot avoid near its start and its end.

#include <algorithm>

#include "sim/orders/bounds/parts.hpp"

namespace pipeloom::orders {
namespace {

/// The most I and W that can be left when the rank's last F has ended: what it holds then has I and W before it, or W alone.
///
/// Of alike stages, x >= 1 that wait for I and y for W: x (I + W) + y W, x held + y kept within the limit, x + y <= n. Unlike stages: no
/// more than with the longest times and fewest bytes among them, and no more than where bytes may be cut.
Wide most_left(const Parts& parts, std::size_t rank) {
  const Bytes limit = parts.problem.limit[rank];
  const Wide all = parts.all(rank, [](const StageWork& work) { return Wide{work.input} + work.weight; });
  if (limit == kNoLimit) return all;
  std::vector<Load> loads;
  StageWork alike = parts.problem.stages[parts.first_stage(rank)];
  Wide both = 0;
  for (const std::size_t stage : parts.stages_of(rank)) {
    const StageWork& work = parts.problem.stages[stage];
    both = std::max(both, Wide{work.input} + work.weight);
    alike.weight = std::max(alike.weight, work.weight);
    alike.held = std::min(alike.held, work.held);
    alike.kept = std::min(alike.kept, work.kept);
    loads.push_back({Wide{work.input} + work.weight, work.held});
    loads.push_back({Wide{work.weight}, work.kept});
  }
  const Wide bound = std::min(all, most_work(std::move(loads), parts.problem.microbatches, limit));
  const auto n = static_cast<Wide>(parts.problem.microbatches * parts.stages_of(rank).size());
  Wide best = 0;
  for (Wide x = 1; x <= n && x * alike.held <= limit; ++x) {
    const Wide room = limit - x * alike.held;
    const Wide y = alike.kept == 0 ? n - x : std::min(n - x, room / alike.kept);
    best = std::max(best, x * both + y * alike.weight);
  }
  return std::min(bound, best);
}

Wide idle_of(const Parts& parts, std::size_t rank) {
  const std::size_t last = parts.last_stage(rank);
  std::vector<Load> forwards;
  for (const std::size_t stage : parts.stages_of(rank))
    forwards.push_back({parts.problem.stages[stage].forward, parts.problem.stages[stage].held});
  const Wide fit = most_work(std::move(forwards), parts.problem.microbatches, parts.problem.limit[rank]);
  const Wide before = std::max<Wide>(0, parts.chains[last].input_head - parts.start(rank) - fit);
  const Wide tail = parts.chains[last].forward_tail + parts.problem.origin[rank];
  const Wide after = std::max<Wide>(0, tail - most_left(parts, rank));
  return parts.holds_all(rank) ? std::max(before, after) : before + after;
}

}  // namespace

Wide work_start_end(const Parts& parts) {
  Wide best = 0;
  for (std::size_t rank = 0; rank < parts.problem.ranks(); ++rank) {
    const Wide work = parts.all(rank, [](const StageWork& stage) { return Wide{stage.work()}; });
    best = std::max(best, parts.start(rank) + work + idle_of(parts, rank) - Wide{parts.problem.origin[rank]});
  }
  return best;
}

}  // namespace pipeloom::orders
