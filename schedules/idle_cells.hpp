#pragma once

// Helpers of the generators' idle_cells hooks: the blanks that a framework draws in a queue (IdleCells of <pipeloom/schedule.hpp>).

#include <cstddef>

#include <pipeloom/schedule.hpp>

namespace pipeloom::schedules {

/// No blank anywhere: [rank][i] = 0 for i = 0 .. entries of the rank's queue. REQUIRES: no groups, so that entries are ops.
[[nodiscard]] inline IdleCells no_idle_cells(const Schedule& schedule) {
  IdleCells cells;
  cells.reserve(static_cast<std::size_t>(schedule.ranks()));
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
    cells.emplace_back(schedule.queue(rank).size() + 1, 0);
  return cells;
}

}  // namespace pipeloom::schedules
