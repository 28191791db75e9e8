#pragma once

// The part of resolve() about durations: from what is given to all four kinds on every stage.

#include "sim/cost/cost_spec.hpp"
#include "sim/cost/resolve.hpp"
#include "sim/schedule.hpp"

namespace pipeloom::cost {

/// Spreads numbers over stages and divides them as `per` says (see resolve.hpp).
[[nodiscard]] std::vector<Ticks> spread(const StageNumbers& numbers, Per per, const Placement& placement);

/// Fills `out.stage_duration`, `out.origins` and `out.warnings`.
void resolve_durations(const CostSpec& spec, const Schedule& schedule, ResolvedCosts& out);

}  // namespace pipeloom::cost
