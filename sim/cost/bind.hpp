#pragma once

// From costs of a placement to costs of one order of its ops.

#include <span>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>

namespace pipeloom::cost {

/// Fills `costs.per_op` where a cost depends on the op; leaves it empty where `ops` is. `costs` are of the schedule's placement, and
/// complete: they have slice_end and microbatch_scale. Of several in `ops` that name an op the last counts. O(ops of the
/// schedule, and of those that each of `ops` names). REQUIRES: factors times durations fit 64 bits.
void bind_costs(Costs& costs, std::span<const OpCost> ops, const Schedule& schedule);
/// Puts `ops` into costs.duration where none of them depends on a microbatch or slice. False, and nothing done, where one does.
[[nodiscard]] bool fold_costs(Costs& costs, std::span<const OpCost> ops, const Placement& placement);
/// bind_costs() for terms.
void bind(Terms& terms, const Schedule& schedule);

}  // namespace pipeloom::cost
