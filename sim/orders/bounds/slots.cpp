// A stage holds k microbatches from F to I: F i waits for I i - k, so each group of k takes a whole way through the deeper stages.

#include <algorithm>

#include "sim/orders/bounds/parts.hpp"

namespace pipeloom::orders {
namespace {

/// The work of a rank for `count` microbatches at stages from `stage` on, and where this begins.
struct Deeper {
  std::size_t first = 0;  ///< of its stages
  Wide work = 0;          ///< F and I of one microbatch
};

/// From the start of a stage's first F to the end of its I `later` microbatches after it, at least.
Wide way_of(const Parts& parts, std::size_t stage, Wide later, const std::vector<Deeper>& deeper) {
  Wide best = parts.life(stage);
  const Wide start = parts.chains[stage].forward_head;
  const auto back = [&](std::size_t from) {  // from the end of I there to the end of I here
    return parts.chains[stage].input_head + parts.problem.stages[stage].input -
           parts.chains[from].input_head - parts.problem.stages[from].input;
  };
  for (std::size_t s = stage; s < parts.problem.stages.size(); ++s) {
    const StageWork& work = parts.problem.stages[s];
    const Wide around = parts.chains[s].forward_head - start + back(s);
    best = std::max(best, around + parts.life(s) + later * std::max(work.forward, work.input));
    const Deeper& rank = deeper[work.rank];
    if (rank.first == s) best = std::max(best, around + (later + 1) * rank.work);
  }
  return best;
}

}  // namespace

Wide slot_bound(const Parts& parts) {
  const auto m = static_cast<Wide>(parts.problem.microbatches);
  std::vector<Deeper> deeper(parts.problem.ranks());
  Wide best = 0;
  for (std::size_t stage = parts.problem.stages.size(); stage-- > 0;) {
    const StageWork& work = parts.problem.stages[stage];
    Deeper& own = deeper[work.rank];
    own = {stage, own.work + work.forward + work.input};
    const auto k = static_cast<Wide>(parts.slots(stage));
    if (k == 0) continue;
    const Wide rounds = (m - 1) / k;
    const Wide way = way_of(parts, stage, (m - 1) % k, deeper);
    best = std::max(best, parts.chains[stage].forward_head +
                              rounds * (parts.life(stage) + parts.slot_delay(stage)) + way +
                              parts.chains[stage].input_tail);
  }
  return best;
}

}  // namespace pipeloom::orders
