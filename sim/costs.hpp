#pragma once

// What every op and every transfer of one schedule costs, resolved to ticks.
//
// This is the engine's view: dense tables indexed by slot, nothing left to look up or derive. How users
// state costs (scalars, per-stage tables, units, unequal devices) is sim/cost's business.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/op.hpp"
#include "sim/schedule.hpp"

namespace pipeloom {

/// Scales are integers in units of 1e-9, so that products stay exact integers.
using Scale = std::int64_t;
inline constexpr Scale kUnitScale = 1'000'000'000;

/// How long an overlapped group lasts, from the durations of its parts.
enum class OverlapRule : std::uint8_t {
  Sum,         ///< the parts' sum
  Explicit,    ///< a given duration, by the slot of the group's forward
  Factor,      ///< factor * sum, but never below the longest part
  Saving,      ///< sum - saving, but never below the longest part
  Sequential,  ///< the parts one after another in entry order; each part's result is visible at its own end
};

struct Overlap {
  OverlapRule rule = OverlapRule::Sum;
  /// Explicit: duration[slot of the forward]. A group without exactly one forward uses Sum.
  std::vector<Ticks> duration = {};
  Scale factor = kUnitScale;
  Ticks saving = 0;
};

/// Slice j's part of `whole`: what lies between two cuts, so that all parts add up to the whole. REQUIRES: as Costs::slice_end.
[[nodiscard]] inline std::int64_t slice_share(std::int64_t whole, const std::vector<std::int64_t>& slice_end,
                                              int slice) {
  const auto j = static_cast<std::size_t>(slice);
  const std::int64_t total = slice_end.back();
  return multiply_divide(whole, slice_end[j + 1], total) - multiply_divide(whole, slice_end[j], total);
}

/// Durations and delays. Shapes: duration[kind][slot], forward_delay[slot], backward_delay[slot] with
/// slot = replica * S + stage.
struct Costs {
  TimeUnit unit = TimeUnit::Unit;
  std::array<std::vector<Ticks>, kOpKinds> duration;
  /// Multiplies every duration of a microbatch's ops, [microbatch]; empty means 1 for all. An Explicit
  /// group duration is not scaled: it is what the user said.
  std::vector<Scale> microbatch_scale;
  /// Where each slice of a sequence ends, in shares of the whole: slice j takes the part from slice_end[j] to
  /// slice_end[j + 1] of slice_end[n]; slice_end[0] = 0. The parts are cut so that a microbatch's slices add up exactly.
  /// Empty: every slice takes the whole duration.
  std::vector<std::int64_t> slice_end;
  Overlap overlap;
  /// Time between the end of F(slot's previous stage, k) and the earliest start of F(slot, k) under the
  /// `latency` model: 0 for stage 0 and where both stages share a rank.
  std::vector<Ticks> forward_delay;
  /// The same for the gradient that B or I of the slot waits for; 0 for the last stage.
  std::vector<Ticks> backward_delay;
  /// The part of these delays that a link is busy with sending (bytes / bandwidth, without latency); empty: none. Only links
  /// that queue ask.
  std::vector<Ticks> forward_sending;
  std::vector<Ticks> backward_sending;

  /// How long each op takes when it runs alone, whatever the tables say, [op index]; empty: what they say. Made for one schedule
  /// (sim/cost/bind.hpp) and right for that one only.
  std::vector<Ticks> per_op;

  /// The duration of op index i of `schedule` when it runs alone.
  [[nodiscard]] Ticks op_duration(const Schedule& schedule, std::size_t i) const {
    if (!per_op.empty()) return per_op[i];
    const Op op = schedule.ops()[i];
    return table_duration(op, schedule.slot_of(op));
  }
  /// What the tables say of it: for ops that have no place in an order yet.
  [[nodiscard]] Ticks table_duration(Op op, Slot slot) const {
    const Ticks whole = duration[index_of(op.kind())][slot.at()];
    const Ticks base = slice_end.empty() ? whole : slice_share(whole, slice_end, op.slice());
    return microbatch_scale.empty() ? base : scaled(base, op.microbatch());
  }
  /// A part of an overlapped group, when microbatches do not matter.
  struct Part {
    OpKind kind = OpKind::Forward;
    Slot slot;
    friend auto operator<=>(const Part&, const Part&) = default;
  };
  /// How long these parts take together, microbatch_scale left out. With per_op they are op indices [first, first + parts).
  [[nodiscard]] Ticks parts_duration(std::span<const Part> parts, std::size_t first = 0) const;
  /// The duration of the entry made of op indices [first, last).
  [[nodiscard]] Ticks entry_duration(const Schedule& schedule, std::size_t first, std::size_t last) const;

 private:
  /// The overlap rule on top of the parts' sum and the longest of them; `forward` is the slot of the only forward, or null.
  [[nodiscard]] Ticks overlapped(Ticks sum, Ticks longest, const Slot* forward) const;
  [[nodiscard]] Ticks scaled(Ticks base, Microbatch microbatch) const;
};

/// F 1, B 2, I 1, W 1, R 1, O 1, L 1 in the abstract unit, no transfers, group F + B: what an empty configuration means.
[[nodiscard]] Costs default_costs(const Placement& placement);

/// The same durations on every stage, `delay` on every hop between different ranks.
struct UniformCosts {
  Ticks forward = 1;
  Ticks backward = 2;
  Ticks backward_input = 1;
  Ticks backward_weight = 1;
  Ticks copy = 1;  ///< O and L; R takes `forward`
  Ticks delay = 0;
  Overlap overlap = {};
  TimeUnit unit = TimeUnit::Unit;
};
[[nodiscard]] Costs uniform_costs(const Placement& placement, const UniformCosts& costs);

}  // namespace pipeloom
