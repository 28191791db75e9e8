#include <algorithm>

#include <pipeloom/costs.hpp>
#include "sim/kinds.hpp"

namespace pipeloom {

Ticks Costs::scaled(Ticks base, Microbatch microbatch) const {
  return microbatch_scale.empty() ? base
                                  : multiply_divide(base, microbatch_scale[microbatch.at()], kUnitScale);
}

/// A group's parts on the way to its duration.
struct Costs::GroupSum {
  Ticks sum = 0;
  Ticks longest = 0;
  int parts = 0;
  int forwards = 0;
  Slot forward;
  Slot other;

  void add(OpKind kind, Slot slot, Ticks duration) {
    sum += duration;
    longest = std::max(longest, duration);
    ++parts;
    if (kind != OpKind::Forward) {
      other = slot;
      return;
    }
    ++forwards;
    forward = slot;
  }
};

Ticks Costs::overlapped(const GroupSum& group) const {
  switch (overlap.rule) {
    case OverlapRule::Sum:
    case OverlapRule::Sequential:
      return group.sum;
    case OverlapRule::Factor:
      return std::max(group.longest, multiply_divide(group.sum, overlap.factor, kUnitScale));
    case OverlapRule::Saving:
      return std::max(group.longest, group.sum - overlap.saving);
    case OverlapRule::Explicit:
      if (group.forwards != 1) return group.sum;
      if (overlap.pairs.empty()) return overlap.duration[group.forward.at()];
      return group.parts == 2 ? overlap.pairs[group.forward.at() * forward_delay.size() + group.other.at()]
                              : group.sum;
  }
  return group.sum;
}

Ticks Costs::parts_duration(std::span<const Part> parts, std::size_t first) const {
  if (parts.size() > 1 && !per_group.empty()) return per_group[first];
  GroupSum group;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto [kind, slot] = parts[i];
    group.add(kind, slot, per_op.empty() ? duration[index_of(kind)][slot.at()] : per_op[first + i] - entry);
  }
  return (parts.size() == 1 ? group.sum : overlapped(group)) + entry;
}

Ticks Costs::entry_duration(const Schedule& schedule, std::size_t first, std::size_t last) const {
  if (last - first > 1 && !per_group.empty()) return per_group[first];
  GroupSum group;
  for (std::size_t i = first; i < last; ++i) {
    const Op op = schedule.ops()[i];
    const Slot slot = schedule.slot_of(op);
    group.add(op.kind(), slot, (per_op.empty() ? table_duration(op, slot) : per_op[i]) - entry);
  }
  return (last - first == 1 ? group.sum : overlapped(group)) + entry;
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
