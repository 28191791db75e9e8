#pragma once

// What a configuration leaves open of times, messages, bytes and the step's end, stated as its model says.

#include <pipeloom/schedule.hpp>
#include "study/run/model_costs.hpp"

namespace pipeloom::study {

/// Fills in `out.config`, and says in `out.origins` where each number is from. What the input states stays. REQUIRES: setting and estimate stand in `out`.
void fill_costs(ModelCosts& out, const Placement& placement);

}  // namespace pipeloom::study
