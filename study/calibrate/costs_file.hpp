#pragma once

// From measurements to costs: as a configuration has them, and as the file that "costs" of one may name.

#include <iosfwd>
#include <string>
#include <vector>

#include "sim/cost/cost_spec.hpp"
#include "study/calibrate/measurements.hpp"

namespace pipeloom::study::calibrate {

/// The medians per stage and kind, rows for single ops, what messages take, and the noise. `rules` say what no time tells: how messages
/// behave, and whether the parts of a group ran one after another; its numbers are not looked at. Ops that never ran alone: B is I + W where
/// these did; what else is known in shares of groups only predicts the schedule that ran and no other.
[[nodiscard]] cost::CostSpec costs_of(const Measurements& measured, const cost::CostSpec& rules = {});

/// costs_of() as a file, without what is known in shares only; the layers of each stage where they are known; and under "measured", which no
/// simulation reads, how far the measurements lie apart.
void write_costs(std::ostream& out, const Measurements& measured, const cost::CostSpec& rules = {});

/// The same of costs that are made already.
void write_made_costs(std::ostream& out, const Measurements& measured, const cost::CostSpec& costs);

/// "B of stages 0, 3 ran in groups only: costs take I + W for it": a line for each kind of which that is so.
[[nodiscard]] std::vector<std::string> unmeasured(const cost::MeasuredOps& measured);

}  // namespace pipeloom::study::calibrate
