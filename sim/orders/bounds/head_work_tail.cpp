// F and I of a rank, then the gradients' way down to the ranks before it: W is left out, so all of it comes before the last I has ended.

#include <algorithm>

#include "sim/orders/bounds/parts.hpp"

namespace pipeloom::orders {
namespace {

/// Time of the rank between its first F and its last I that runs neither F nor I.
Wide other_time(const Parts& parts, std::size_t rank) {
  std::vector<Load> forwards;
  std::vector<Load> inputs;
  for (const std::size_t stage : parts.stages_of(rank)) {
    const StageWork& work = parts.problem.stages[stage];
    forwards.push_back({work.forward, work.held});
    inputs.push_back({work.input, work.held});
  }
  const std::size_t m = parts.problem.microbatches;
  const Bytes limit = parts.problem.limit[rank];
  const std::size_t last = parts.last_stage(rank);
  const std::size_t first = parts.first_stage(rank);
  const Wide before = parts.chains[last].input_head - parts.start(rank) - most_work(forwards, m, limit);
  const Wide last_end = parts.chains[last].forward_head + parts.problem.stages[last].forward;
  const Wide chain = parts.chains[first].input_head + parts.problem.stages[first].input - last_end;
  const Wide after = chain - most_work(inputs, m, limit);
  const Wide larger = std::max<Wide>({0, before, after});
  return parts.holds_all(rank) ? larger : std::max<Wide>(0, before) + std::max<Wide>(0, after);
}

}  // namespace

Wide head_work_tail(const Parts& parts) {
  Wide best = 0;
  for (std::size_t rank = 0; rank < parts.problem.ranks(); ++rank) {
    const Wide work =
        parts.all(rank, [](const StageWork& stage) { return Wide{stage.forward} + stage.input; });
    best = std::max(best, parts.start(rank) + work + other_time(parts, rank) +
                              parts.chains[parts.first_stage(rank)].input_tail);
  }
  return best;
}

}  // namespace pipeloom::orders
