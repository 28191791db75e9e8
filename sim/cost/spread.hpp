#pragma once

// From a number for a stage, a rank or a model to numbers for stages.

#include <vector>

#include <pipeloom/schedule.hpp>
#include "sim/cost/cost_spec.hpp"

namespace pipeloom::cost {

/// Spreads numbers over stages and divides them as `per` says (see resolve.hpp). `per_key` is the key that says it, for errors.
[[nodiscard]] std::vector<Ticks> spread(const StageNumbers& numbers, Per per, const Placement& placement,
                                        const char* per_key = "costs.per");

}  // namespace pipeloom::cost
