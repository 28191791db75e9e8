#pragma once

// From "these ranks wait, each for this tensor" to which rank waits for which.

#include <cstddef>
#include <string>
#include <vector>

#include <pipeloom/simulate.hpp>

namespace pipeloom {

/// Rank `rank` waits at op index `op`, whose input is tensor number `tensor` (sim/tensor_index.hpp).
struct Wait {
  Rank rank;
  std::size_t op = 0;
  std::size_t tensor = 0;
};

/// Finds the producer of each tensor and the cycle of waits. One pass over all ops.
[[nodiscard]] ScheduleHang explain_waits(const Schedule& schedule, const std::vector<Wait>& waits,
                                         std::size_t entries_done);

/// "rank 2 waits at 2F3 for 1F3 of rank 1, which waits at ..., a cycle": one line.
[[nodiscard]] std::string describe(const ScheduleHang& hang, const Schedule& schedule);

}  // namespace pipeloom
