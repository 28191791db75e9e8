#pragma once

// Fills in the times, messages, bytes and end of a step that a configuration leaves open, from its model.

#include <pipeloom/schedule.hpp>
#include "study/run/model_costs.hpp"

namespace pipeloom::study {

/// Fills in `out.config`, and writes the origin of each number to `out.origins`. Numbers that the input states stay. REQUIRES: `out` has its setting
/// and estimate.
void fill_costs(ModelCosts& out, const Placement& placement);

}  // namespace pipeloom::study
