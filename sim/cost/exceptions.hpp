#pragma once

// Rows of costs.table and costs.exceptions on their way to the costs of single ops.

#include <vector>

#include <pipeloom/schedule.hpp>
#include "sim/cost/cost_spec.hpp"

namespace pipeloom::cost {

/// The rows with times of one chunk pass: divided by v or S as `per` says, rounded to the nearest tick. Null stays null.
[[nodiscard]] CostRows rows_per_pass(const CostRows& rows, Per per, const Placement& placement);

}  // namespace pipeloom::cost
