#include "sim/orders/entries/copies.hpp"

#include <algorithm>
#include <vector>

namespace pipeloom::orders {
namespace {

/// Of each rank, what one microbatch needs on its way through all its stages, and the most that an I takes more than it gives back.
struct Needs {
  explicit Needs(const Problem& problem) : held(problem.ranks()), surplus(problem.ranks()) {
    for (const StageWork& stage : problem.stages) {
      held[stage.rank] += stage.held;
      surplus[stage.rank] = std::max(surplus[stage.rank], stage.kept - stage.held);
    }
  }
  std::vector<Bytes> held;
  std::vector<Bytes> surplus;
};

void put_weights_after_inputs(Problem& problem) {
  const Needs needs(problem);
  for (StageWork& stage : problem.stages)
    if (stage.again > 0 && needs.held[stage.rank] + needs.surplus[stage.rank] > problem.limit[stage.rank])
      stage.kept = std::min(stage.kept, stage.held);
}

}  // namespace

Problem eased(const Problem& problem, std::int32_t room) {
  Problem out = problem;
  std::vector<Bytes> largest(problem.ranks());
  for (StageWork& stage : out.stages) {
    if (!stage.is_copied) continue;
    largest[stage.rank] = std::max(largest[stage.rank], stage.held);
    stage.held = 0;
  }
  put_weights_after_inputs(out);
  const Needs needs(out);
  for (std::size_t rank = 0; rank < out.ranks(); ++rank) {
    if (out.limit[rank] == kNoLimit || largest[rank] == 0) continue;
    const Bytes left = std::max<Bytes>(out.limit[rank] - needs.held[rank] - needs.surplus[rank], 0);
    out.limit[rank] -= std::min<Bytes>(room, left / largest[rank]) * largest[rank];
  }
  return out;
}

}  // namespace pipeloom::orders
