#pragma once

// The part of resolve() about durations: from what sources say to all kinds on every stage.

#include "sim/cost/resolve.hpp"
#include "sim/cost/source.hpp"

namespace pipeloom::cost {

/// Fills `out.stage_duration`, `out.origins` and `out.warnings`. Throws InputError for a kind that runs and of which no source says
/// anything.
void take_durations(const CostSpec& spec, const Shape& shape, Stated said, ResolvedCosts& out);

}  // namespace pipeloom::cost
