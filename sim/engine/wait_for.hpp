#pragma once

// From "these ranks stand still, each for this tensor" to an explained deadlock.

#include <cstddef>
#include <vector>

#include "sim/deadlock.hpp"

namespace pipeloom {

/// Rank `rank` stands at op index `op`, whose input is tensor number `tensor` (sim/tensor_index.hpp).
struct Wait {
  Rank rank;
  std::size_t op = 0;
  std::size_t tensor = 0;
};

/// Finds who was to produce each tensor and the cycle of waits. One pass over all ops.
[[nodiscard]] Deadlock explain_waits(const Schedule& schedule, const std::vector<Wait>& waits,
                                     std::size_t entries_done);

}  // namespace pipeloom
