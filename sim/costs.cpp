#include <algorithm>

#include <pipeloom/costs.hpp>
#include "sim/kinds.hpp"

namespace pipeloom {

Ticks Costs::scaled(Ticks base, Microbatch microbatch) const {
  return multiply_divide(base, microbatch_scale[microbatch.at()], kUnitScale);
}

Ticks Costs::overlapped(Ticks sum, Ticks longest, const Slot* forward) const {
  switch (overlap.rule) {
    case OverlapRule::Sum:
    case OverlapRule::Sequential:
      return sum;
    case OverlapRule::Factor:
      return std::max(longest, multiply_divide(sum, overlap.factor, kUnitScale));
    case OverlapRule::Saving:
      return std::max(longest, sum - overlap.saving);
    case OverlapRule::Explicit:
      return forward != nullptr ? overlap.duration[forward->at()] : sum;
  }
  return sum;
}

namespace {

/// Adds up a group's parts on the way to its duration.
struct GroupSum {
  Ticks sum = 0;
  Ticks longest = 0;
  int forwards = 0;
  Slot forward;

  void add(OpKind kind, Slot slot, Ticks duration) {
    sum += duration;
    longest = std::max(longest, duration);
    if (kind != OpKind::Forward) return;
    ++forwards;
    forward = slot;
  }
  [[nodiscard]] const Slot* only_forward() const { return forwards == 1 ? &forward : nullptr; }
};

}  // namespace

Ticks Costs::parts_duration(std::span<const Part> parts, std::size_t first) const {
  GroupSum group;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto [kind, slot] = parts[i];
    group.add(kind, slot, per_op.empty() ? duration[index_of(kind)][slot.at()] : per_op[first + i]);
  }
  return parts.size() == 1 ? group.sum : overlapped(group.sum, group.longest, group.only_forward());
}

Ticks Costs::entry_duration(const Schedule& schedule, std::size_t first, std::size_t last) const {
  GroupSum group;
  for (std::size_t i = first; i < last; ++i) {
    const Op op = schedule.ops()[i];
    const Slot slot = schedule.slot_of(op);
    group.add(op.kind(), slot, per_op.empty() ? table_duration(op, slot) : per_op[i]);
  }
  return last - first == 1 ? group.sum : overlapped(group.sum, group.longest, group.only_forward());
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
  for (const KindRow& row : kKinds)
    if (row.extra)
      costs.duration[index_of(row.kind)].assign(slots, is_copy(row.kind) ? uniform.copy : uniform.forward);
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
  return uniform_costs(
      placement,
      {.forward = one, .backward = 2 * one, .backward_input = one, .backward_weight = one, .copy = one});
}

}  // namespace pipeloom
