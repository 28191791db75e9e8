#include "sim/cost/bind.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace pipeloom::cost {
namespace {

constexpr std::size_t kBackward = index_of(OpKind::Backward);
constexpr std::size_t kInputHalf = index_of(OpKind::BackwardInput);
constexpr std::size_t kWeightHalf = index_of(OpKind::BackwardWeight);

/// Stated times of the ops of each kind and slot, unit by unit, before microbatch_scale and `entry`. A unit is a slice of a microbatch.
class SaidOfOps {
 public:
  SaidOfOps(const Costs& costs, const Placement& placement, int microbatches, int slices)
      : costs_(costs), placement_(placement), microbatches_(microbatches), slices_(slices) {
    const auto slots = static_cast<std::size_t>(placement.slots());
    for (auto& by_slot : own_) by_slot.resize(slots);
    for (auto& by_slot : half_) by_slot.resize(slots);
    group_.resize(slots);
  }

  void add(const OpCost& cost) {
    for (Slot slot{0}; slot < Slot(placement_.slots()); ++slot) {
      if (cost.stage && *cost.stage != placement_.stage_of(slot)) continue;
      if (cost.rank && *cost.rank != placement_.rank_of(slot)) continue;
      if (cost.of_group) {
        fill(group_[slot.at()], cost, [&](int /*slice*/) { return cost.duration; });
        continue;
      }
      for (const OpKind kind : kAllOpKinds)
        if (cost.kinds.has(kind)) add(cost, index_of(kind), slot.at());
    }
  }

  [[nodiscard]] Ticks duration(std::size_t kind, std::size_t slot, std::size_t unit) const {
    if (const Ticks said = at(own_[kind][slot], unit); said != kNothing) return said;
    const Ticks table = table_of(kind, slot, slice_of(unit));
    if (kind == kInputHalf || kind == kWeightHalf) {
      const Ticks half = at(half_[kind - kInputHalf][slot], unit);
      return half == kNothing ? table : half;
    }
    if (kind != kBackward) return table;
    return std::max<Ticks>(0, table + change_of(kInputHalf, slot, unit) + change_of(kWeightHalf, slot, unit));
  }

  /// Of the group whose forward this is; nothing where no row names it.
  [[nodiscard]] std::optional<Ticks> group(std::size_t slot, std::size_t unit) const {
    const Ticks said = at(group_[slot], unit);
    return said == kNothing ? std::nullopt : std::optional(said);
  }

 private:
  static_assert(kWeightHalf == kInputHalf + 1);
  static constexpr Ticks kNothing = -1;
  using Cells = std::vector<Ticks>;  // [unit], or empty: not given

  static Ticks at(const Cells& cells, std::size_t unit) { return cells.empty() ? kNothing : cells[unit]; }
  [[nodiscard]] int slice_of(std::size_t unit) const {
    return static_cast<int>(unit % static_cast<std::size_t>(slices_));
  }

  [[nodiscard]] Ticks table_of(std::size_t kind, std::size_t slot, int slice) const {
    return part_of(costs_.duration[kind][slot], slice);
  }
  [[nodiscard]] Ticks part_of(Ticks whole, int slice) const {
    return costs_.slice_end.empty() ? whole : slice_share(whole, costs_.slice_end, slice);
  }
  /// Difference between the stated times of I or W and those of the table.
  [[nodiscard]] Ticks change_of(std::size_t kind, std::size_t slot, std::size_t unit) const {
    const Ticks said = at(own_[kind][slot], unit);
    return said == kNothing ? 0 : said - table_of(kind, slot, slice_of(unit));
  }

  void add(const OpCost& cost, std::size_t kind, std::size_t slot) {
    fill(own_[kind][slot], cost, [&](int slice) { return said_of(cost, kind, slot, slice); });
    if (kind != kBackward) return;
    for (const std::size_t half : {kInputHalf, kWeightHalf})
      fill(half_[half - kInputHalf][slot], cost, [&](int slice) {
        return cost.factor ? said_of(cost, half, slot, slice) : half_of(cost, half, slot, slice);
      });
  }

  [[nodiscard]] Ticks said_of(const OpCost& cost, std::size_t kind, std::size_t slot, int slice) const {
    if (cost.factor) return multiply_divide(table_of(kind, slot, slice), *cost.factor, kUnitScale);
    return cost.slice ? cost.duration : part_of(cost.duration, slice);
  }

  /// The part of a B's duration that I or W takes: as the tables divide them, or a half.
  [[nodiscard]] Ticks half_of(const OpCost& cost, std::size_t half, std::size_t slot, int slice) const {
    const Ticks whole = said_of(cost, kBackward, slot, slice);
    const Ticks input = costs_.duration[kInputHalf][slot];
    const Ticks both = input + costs_.duration[kWeightHalf][slot];
    const Ticks first = both == 0 ? whole - whole / 2 : multiply_divide(whole, input, both);
    return half == kInputHalf ? first : whole - first;
  }

  template <class Value>
  void fill(Cells& cells, const OpCost& cost, const Value& value) const {
    if (cells.empty())
      cells.assign(static_cast<std::size_t>(microbatches_) * static_cast<std::size_t>(slices_), kNothing);
    const int first = cost.microbatch ? cost.microbatch->value() : 0;
    const int last = cost.microbatch ? std::min(first + 1, microbatches_) : microbatches_;
    for (int slice = cost.slice.value_or(0);
         slice < (cost.slice ? std::min(*cost.slice + 1, slices_) : slices_); ++slice) {
      const Ticks ticks = value(slice);
      for (int microbatch = first; microbatch < last; ++microbatch)
        cells[static_cast<std::size_t>(microbatch) * static_cast<std::size_t>(slices_) +
              static_cast<std::size_t>(slice)] = ticks;
    }
  }

  const Costs& costs_;
  const Placement& placement_;
  int microbatches_;
  int slices_;
  std::array<std::vector<Cells>, kOpKinds> own_;  // [kind][slot][unit]
  std::array<std::vector<Cells>, 2> half_;        // the stated times of B, as they apply to its I and W
  std::vector<Cells> group_;                      // [slot][unit] of the forward
};

/// Times of all groups, as the rows say and the overlap rule of `costs`, which have per_op.
std::vector<Ticks> group_times(const Costs& costs, const SaidOfOps& said, const Schedule& schedule) {
  std::vector<Ticks> times(schedule.num_ops(), 0);
  const auto ops = schedule.ops();
  for_each_entry(schedule, 0, schedule.num_ops(), [&](std::size_t first, std::size_t last) {
    if (last - first < 2) return;
    times[first] = costs.entry_duration(schedule, first, last);
    const auto is_forward = [](Op op) { return op.kind() == OpKind::Forward; };
    const auto parts = ops.subspan(first, last - first);
    if (std::ranges::count_if(parts, is_forward) != 1) return;
    const Op forward = *std::ranges::find_if(parts, is_forward);
    if (const auto own = said.group(schedule.slot_of(forward).at(), schedule.unit_of(forward)))
      times[first] = *own + costs.entry;
  });
  return times;
}

}  // namespace

void bind_costs(Costs& costs, std::span<const OpCost> ops, const Schedule& schedule) {
  costs.per_op.clear();
  costs.per_group.clear();
  if (ops.empty()) return;
  SaidOfOps said(costs, schedule.placement(), schedule.microbatches(), schedule.slices());
  for (const OpCost& cost : ops) said.add(cost);
  std::vector<Ticks> per_op;
  per_op.reserve(schedule.num_ops());
  for (const Op op : schedule.ops()) {
    const Ticks ticks = said.duration(index_of(op.kind()), schedule.slot_of(op).at(), schedule.unit_of(op));
    per_op.push_back(costs.scaled(ticks, op.microbatch()) + costs.entry);
  }
  costs.per_op = std::move(per_op);
  const bool of_groups = std::ranges::any_of(ops, &OpCost::of_group);
  if (of_groups && schedule.has_groups()) costs.per_group = group_times(costs, said, schedule);
}

bool fold_costs(Costs& costs, std::span<const OpCost> ops, const Placement& placement) {
  if (std::any_of(ops.begin(), ops.end(),
                  [](const OpCost& cost) { return cost.microbatch || cost.slice || cost.of_group; }))
    return false;
  Costs whole = costs;
  whole.slice_end.clear();
  SaidOfOps said(whole, placement, 1, 1);
  for (const OpCost& cost : ops) said.add(cost);
  for (std::size_t kind = 0; kind < kOpKinds; ++kind)
    for (std::size_t slot = 0; slot < costs.duration[kind].size(); ++slot)
      costs.duration[kind][slot] = said.duration(kind, slot, 0);
  return true;
}

void bind(Terms& terms, const Schedule& schedule) {
  bind_costs(terms.costs, terms.ops, schedule);
}

}  // namespace pipeloom::cost
