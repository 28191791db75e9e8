#include "sim/orders/search/rows.hpp"

namespace pipeloom::orders {

std::vector<Row> rows_of(const Problem& problem) {
  std::vector<Row> rows;
  const auto stages = static_cast<std::uint32_t>(problem.stages.size());
  for (std::uint32_t s = 0; s < stages; ++s) {
    const StageWork& work = problem.stages[s];
    const auto rank = static_cast<std::uint32_t>(work.rank);
    const bool last = s + 1 == stages;
    rows.push_back({work.forward, work.forward_delay, work.held, 0, rank,
                    s == 0 ? kNoRow : 3 * (s - 1) + kForward, last ? kNoRow : 3 * (s + 1) + kForward});
    rows.push_back({work.input, work.gradient_delay, 0, work.kept - work.held, rank,
                    last ? 3 * s + kForward : 3 * (s + 1) + kInput, s == 0 ? kNoRow : 3 * (s - 1) + kInput});
    rows.push_back({work.weight, 0, 0, -work.kept, rank, 3 * s + kInput, kNoRow});
  }
  return rows;
}

}  // namespace pipeloom::orders
