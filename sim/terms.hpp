#pragma once

// What the ops of one placement cost, and what they hold: everything that is known before an order is.

#include "sim/costs.hpp"
#include "sim/memory.hpp"

namespace pipeloom {

/// Resolved once for a placement (sim/cost/resolve.hpp) and never changed. Shapes: by slot, as Costs and MemoryModel say.
struct Terms {
  Costs costs;
  MemoryModel memory;
};

}  // namespace pipeloom
