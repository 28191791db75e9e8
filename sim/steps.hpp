#pragma once

// How one training step follows the other.

#include "sim/base/units.hpp"

namespace pipeloom {

enum class StepRule : unsigned char {
  Barrier,         ///< every rank waits for all, then the optimizer runs: step time = makespan + optimizer
  PostValidation,  ///< each rank goes on right after its own last op and optimizer (zero bubble)
};

struct Steps {
  StepRule rule = StepRule::Barrier;
  Ticks optimizer = 0;
  int count = 1;
};

}  // namespace pipeloom
