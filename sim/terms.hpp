#pragma once

// What the ops of one placement cost, and what they hold: everything that is known before an order is.

#include <optional>
#include <vector>

#include "sim/costs.hpp"
#include "sim/memory.hpp"

namespace pipeloom {

/// Ops that take another time than their kind on their slot: those of these kinds and, where they are given, of this stage, microbatch
/// and slice.
struct OpCost {
  KindSet kinds = {};
  std::optional<Stage> stage = {};
  std::optional<Microbatch> microbatch = {};
  std::optional<int> slice = {};
  Ticks duration = 0;  ///< as it stands: scales and slices do not change it

  [[nodiscard]] bool names(Op op) const {
    return kinds.has(op.kind()) && (!stage || *stage == op.stage()) &&
           (!microbatch || *microbatch == op.microbatch()) && (!slice || *slice == op.slice());
  }
};

/// Resolved once for a placement (sim/cost/resolve.hpp) and never changed, but for what bind() adds for one order
/// (sim/cost/bind.hpp). Shapes: by slot, as Costs and MemoryModel say.
struct Terms {
  Costs costs = {};
  MemoryModel memory = {};
  /// Of several that name an op the last counts.
  std::vector<OpCost> ops = {};
};

}  // namespace pipeloom
