#include "sim/orders/entries/copies.hpp"

#include <algorithm>
#include <vector>

namespace pipeloom::orders {

Problem eased(const Problem& problem, std::int32_t room) {
  Problem out = problem;
  std::vector<Bytes> largest(problem.ranks());
  std::vector<Bytes> needed(problem.ranks());   // for one microbatch to get through
  std::vector<Bytes> surplus(problem.ranks());  // that an I takes more than it gives back
  for (StageWork& stage : out.stages) {
    if (stage.is_copied) largest[stage.rank] = std::max(largest[stage.rank], stage.held);
    if (stage.is_copied) stage.held = 0;
    needed[stage.rank] += stage.held;
    surplus[stage.rank] = std::max(surplus[stage.rank], stage.kept - stage.held);
  }
  for (std::size_t rank = 0; rank < out.ranks(); ++rank) {
    if (out.limit[rank] == kNoLimit || largest[rank] == 0) continue;
    const Bytes left = std::max<Bytes>(out.limit[rank] - needed[rank] - surplus[rank], 0);
    out.limit[rank] -= std::min<Bytes>(room, left / largest[rank]) * largest[rank];
  }
  return out;
}

}  // namespace pipeloom::orders
