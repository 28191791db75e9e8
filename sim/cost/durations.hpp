#pragma once

// The part of resolve() about durations: from what is given to all four kinds on every stage.

#include "sim/cost/cost_spec.hpp"
#include "sim/cost/resolve.hpp"

namespace pipeloom::cost {

/// Spreads numbers over stages and divides them as `per` says (see resolve.hpp). `per_key` is the key that says it, for errors.
[[nodiscard]] std::vector<Ticks> spread(const StageNumbers& numbers, Per per, const Placement& placement,
                                        const char* per_key = "costs.per");

/// Fills `out.stage_duration`, `out.origins` and `out.warnings`.
void resolve_durations(const CostSpec& spec, const Shape& shape, ResolvedCosts& out);

}  // namespace pipeloom::cost
