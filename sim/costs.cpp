#include "sim/costs.hpp"

#include <algorithm>
#include <optional>

namespace pipeloom {
namespace {

/// The slot of the group's only forward, or nothing if it has none or several.
std::optional<Slot> only_forward_slot(const Schedule& schedule, std::span<const Op> ops) {
  std::optional<Slot> found;
  for (const Op op : ops) {
    if (op.kind() != OpKind::Forward) continue;
    if (found) return std::nullopt;
    found = schedule.slot_of(op);
  }
  return found;
}

}  // namespace

Ticks Costs::scaled(Ticks base, Microbatch microbatch) const {
  return multiply_divide(base, microbatch_scale[microbatch.at()], kUnitScale);
}

Ticks Costs::entry_duration(const Schedule& schedule, std::size_t first, std::size_t last) const {
  const auto ops = schedule.ops().subspan(first, last - first);
  Ticks sum = 0;
  Ticks longest = 0;
  for (const Op op : ops) {
    const Ticks part = op_duration(op, schedule.slot_of(op));
    sum += part;
    longest = std::max(longest, part);
  }
  if (ops.size() == 1) return sum;
  switch (overlap.rule) {
    case OverlapRule::Sum:
    case OverlapRule::Sequential:
      return sum;
    case OverlapRule::Factor:
      return std::max(longest, multiply_divide(sum, overlap.factor, kUnitScale));
    case OverlapRule::Saving:
      return std::max(longest, sum - overlap.saving);
    case OverlapRule::Explicit: {
      const auto slot = only_forward_slot(schedule, ops);
      return slot ? overlap.duration[slot->at()] : sum;
    }
  }
  return sum;
}

Costs uniform_costs(const Placement& placement, const UniformCosts& uniform) {
  Costs costs;
  costs.unit = uniform.unit;
  costs.overlap = uniform.overlap;
  const auto slots = static_cast<std::size_t>(placement.slots());
  costs.duration[index_of(OpKind::Forward)].assign(slots, uniform.forward);
  costs.duration[index_of(OpKind::Backward)].assign(slots, uniform.backward);
  costs.duration[index_of(OpKind::BackwardInput)].assign(slots, uniform.backward_input);
  costs.duration[index_of(OpKind::BackwardWeight)].assign(slots, uniform.backward_weight);
  costs.forward_delay.assign(slots, 0);
  costs.backward_delay.assign(slots, 0);
  for (Slot slot{0}; slot < Slot(placement.slots()); ++slot) {
    const Stage stage = placement.stage_of(slot);
    if (stage.value() > 0 && placement.rank_of(slot) != placement.rank_of(slot - 1))
      costs.forward_delay[slot.at()] = uniform.delay;
    if (stage.value() + 1 < placement.stages() && placement.rank_of(slot) != placement.rank_of(slot + 1))
      costs.backward_delay[slot.at()] = uniform.delay;
  }
  return costs;
}

Costs default_costs(const Placement& placement) {
  const Ticks one = ticks_per(TimeUnit::Unit);
  return uniform_costs(placement,
                       {.forward = one, .backward = 2 * one, .backward_input = one, .backward_weight = one});
}

}  // namespace pipeloom
