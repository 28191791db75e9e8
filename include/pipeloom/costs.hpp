#pragma once

// Costs and memory of every op and every transfer of one schedule, resolved to ticks and bytes: dense tables indexed by slot, with nothing left to
// look up or derive.
//
// Activations of (s,k) are allocated at the start of F. The end of I frees `released_at_input`, the end of W the rest; the end of B frees
// everything. A rank runs one entry at a time, so the activation peak follows from the queue order alone: a release comes before the next
// entry's allocation, and a group allocates all its forwards before it releases anything.
//
// With recomputation, F(s,k) holds `stash` only and R(s,k) allocates the rest at its start. With offloading, the end of O frees what F
// holds and the start of L allocates it again; copies run beside the queue, so peaks then follow from times.

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <pipeloom/op.hpp>
#include <pipeloom/schedule.hpp>
#include <pipeloom/units.hpp>

namespace pipeloom {

/// Rules for the duration of an overlapped group, from the durations of its parts.
enum class OverlapRule : std::uint8_t {
  Sum,         ///< the parts' sum
  Explicit,    ///< a given duration, by the group's forward, or by its forward and its backward
  Factor,      ///< factor * sum, but never below the longest part
  Saving,      ///< sum - saving, but never below the longest part
  Sequential,  ///< the parts one after another in entry order; each part's result is visible at its own end
};

struct Overlap {
  OverlapRule rule = OverlapRule::Sum;
  /// Explicit: duration[slot of the forward]. A group without exactly one forward uses Sum.
  std::vector<Ticks> duration = {};
  /// Explicit, instead of `duration`: pairs[slot of the forward * slots + slot of the backward]. A group that is no such pair uses Sum.
  std::vector<Ticks> pairs = {};
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
  /// group duration is not scaled: it is as the user gave it.
  std::vector<Scale> microbatch_scale;
  /// Where each slice of a sequence ends, in shares of the whole: slice j takes the part from slice_end[j] to
  /// slice_end[j + 1] of slice_end[n]; slice_end[0] = 0. The parts are cut so that a microbatch's slices add up exactly.
  /// Empty: every slice takes the whole duration.
  std::vector<std::int64_t> slice_end;
  /// Overhead of every entry (launch, host), added last; a group pays it once.
  Ticks entry = 0;
  Overlap overlap;
  /// Time between the end of F(slot's previous stage, k) and the earliest start of F(slot, k) under the
  /// `latency` model: 0 for stage 0 and where both stages share a rank.
  std::vector<Ticks> forward_delay;
  /// The same for the gradient that B or I of the slot waits for; 0 for the last stage.
  std::vector<Ticks> backward_delay;
  /// The part of these delays for which a link is busy with sending (bytes / bandwidth, without latency); empty: none. Only transfer models
  /// whose links queue use it.
  std::vector<Ticks> forward_sending;
  std::vector<Ticks> backward_sending;
  /// Time that each message takes of its sender's compute lane before it leaves, and of its receiver's before its consumer starts. An
  /// entry's messages leave together, when the lane has handled all of them.
  Ticks rank_time = 0;

  /// Duration of each op when it runs alone, `entry` included, in place of the tables', [op index]; empty: the tables hold. Made for
  /// one schedule and right for that one only; simulate() makes it where it is needed.
  std::vector<Ticks> per_op;
  /// Duration of each overlapped group, `entry` included, in place of the overlap rule's, [index of its first op]; empty: the rule holds.
  /// Made together with per_op, where OpCost::of_group names groups.
  std::vector<Ticks> per_group;

  /// The duration of op index i of `schedule` when it runs alone.
  [[nodiscard]] Ticks op_duration(const Schedule& schedule, std::size_t i) const {
    if (!per_op.empty()) return per_op[i];
    const Op op = schedule.ops()[i];
    return table_duration(op, schedule.slot_of(op));
  }
  /// The duration by the tables, for ops that have no place in an order yet.
  [[nodiscard]] Ticks table_duration(Op op, Slot slot) const {
    const Ticks whole = duration[index_of(op.kind())][slot.at()];
    const Ticks base = slice_end.empty() ? whole : slice_share(whole, slice_end, op.slice());
    return (microbatch_scale.empty() ? base : scaled(base, op.microbatch())) + entry;
  }
  /// Duration of op index i of the group that begins at op index `first`, if its parts run one after another.
  [[nodiscard]] Ticks turn_duration(const Schedule& schedule, std::size_t first, std::size_t i) const {
    return op_duration(schedule, i) - (i == first ? 0 : entry);
  }
  /// A part of an overlapped group, for durations that do not depend on the microbatch.
  struct Part {
    OpKind kind = OpKind::Forward;
    Slot slot;
    friend auto operator<=>(const Part&, const Part&) = default;
  };
  /// Duration of these parts together, microbatch_scale left out, `entry` once included. With per_op they are op indices
  /// [first, first + parts).
  [[nodiscard]] Ticks parts_duration(std::span<const Part> parts, std::size_t first = 0) const;
  /// The duration of the entry made of op indices [first, last).
  [[nodiscard]] Ticks entry_duration(const Schedule& schedule, std::size_t first, std::size_t last) const;

  /// `base` times the microbatch's scale, 1 where there are none.
  [[nodiscard]] Ticks scaled(Ticks base, Microbatch microbatch) const;

 private:
  struct GroupSum;
  /// The overlap rule, applied to the parts' sum.
  [[nodiscard]] Ticks overlapped(const GroupSum& group) const;
};

/// F 1, B 2, I 1, W 1, R 1, O 1, L 1, S 1, T 1 in the abstract unit, no transfers, group F + B: the meaning of an empty configuration.
[[nodiscard]] Costs default_costs(const Placement& placement);

/// The same durations on every stage, `delay` on every hop between different ranks.
struct UniformCosts {
  Ticks forward = 1;
  Ticks backward = 2;
  Ticks backward_input = 1;
  Ticks backward_weight = 1;
  Ticks copy = 1;  ///< O and L; R, S and T take `forward`
  Ticks delay = 0;
  Overlap overlap = {};
  TimeUnit unit = TimeUnit::Unit;
};
[[nodiscard]] Costs uniform_costs(const Placement& placement, const UniformCosts& costs);

/// Shapes: everything is indexed by slot (replica * S + stage), in bytes.
struct MemoryModel {
  /// Held from F to the op that frees it.
  std::vector<Bytes> activation;
  /// The part of `activation` that the end of I frees; at most `activation`. Negative where I keeps more for W than it frees: held from
  /// its end on.
  std::vector<Bytes> released_at_input;
  /// Weights, gradients, optimizer state: always held.
  std::vector<Bytes> static_bytes;
  /// A tensor under way to this slot: held from the end of its producer on another rank to the end of the
  /// op that consumes it.
  std::vector<Bytes> receive;
  /// Output of the last stage: held from the start of F(S-1,k) to the end of B or I(S-1,k). Zero elsewhere.
  std::vector<Bytes> logits;
  /// Bytes that a recomputed forward keeps for its R; 0 <= it <= activation.
  std::vector<Bytes> stash;
  /// Shares of a microbatch's slices in all of the above, as Costs::slice_end; empty: every slice counts whole.
  std::vector<std::int64_t> slice_end;
  /// All of the above and below are in 1/parts of a byte. 1, unless no size of an activation was given and it counts as one on a rank
  /// of v stages: then v.
  int parts = 1;
  /// Number of stage passes that make one activation: v where sizes were given for all of a rank's stages, else 1.
  int passes = 1;
  /// Most bytes of everything, [rank]; empty: no limit.
  std::vector<Bytes> limit;

  /// In bytes, for people and files.
  [[nodiscard]] double in_bytes(Bytes units) const {
    return static_cast<double>(units) / static_cast<double>(parts);
  }
  [[nodiscard]] std::optional<Bytes> limit_of(Rank rank) const {
    return limit.empty() ? std::nullopt : std::optional(limit[rank.at()]);
  }
};

/// One byte of activation per stage pass, nothing else: peaks then count live activations.
[[nodiscard]] MemoryModel default_memory(const Placement& placement);

enum class StepRule : unsigned char {
  Barrier,         ///< every rank waits for all, then the optimizer runs: step time = makespan + optimizer
  PostValidation,  ///< each rank goes on right after its own last op and optimizer (zero bubble)
};

struct Steps {
  StepRule rule = StepRule::Barrier;
  Ticks optimizer = 0;
  int count = 1;
};

/// Variation of the durations of entries from step to step. Only scenarios use it.
enum class NoiseModel : std::uint8_t {
  Constant,   ///< not at all
  Normal,     ///< times 1 + sigma z, never below 0
  Lognormal,  ///< times exp(sigma z): the given duration is the median, the mean is exp(sigma^2 / 2) of it
  Empirical,  ///< times one of `factors`, each as likely
  Hiccup,  ///< every `period` of a rank's time, from a random moment on, the entry that runs takes `time` longer
};
struct Noise {
  NoiseModel model = NoiseModel::Constant;
  Scale sigma = 0;                  ///< Normal, Lognormal
  std::vector<Scale> factors = {};  ///< Empirical
  Ticks period = 0;                 ///< Hiccup
  Ticks time = 0;
  std::vector<Rank> ranks = {};  ///< Hiccup: those that have them; empty: all
};

/// Ops that take another time than their kind on their slot: those of these kinds and, where they are given, on this rank, of this stage,
/// microbatch and slice.
///
/// A value for B holds for I and W too where they have none of their own: a factor for both, a duration in the proportion that they
/// have. A value for I or W changes a B without a value of its own by as much.
struct OpCost {
  KindSet kinds = {};
  std::optional<Rank> rank = {};
  std::optional<Stage> stage = {};
  std::optional<Microbatch> microbatch = {};
  std::optional<int> slice = {};
  /// Duration of a whole pass, which its slices share, or of the slice where one is given. Costs::microbatch_scale and `entry` come on top.
  Ticks duration = 0;
  /// Instead of `duration`: a factor of Costs::duration.
  std::optional<Scale> factor = {};
  /// `duration` is that of the overlapped groups whose forwards are named, in place of Overlap's, and no op's own. REQUIRES: the rule Explicit;
  /// no factor and no slice.
  bool of_group = false;
};

/// Everything that is known of a placement before an order is. Shapes: by slot, as in Costs and MemoryModel.
struct Terms {
  Costs costs = {};
  MemoryModel memory = {};
  /// Exceptions of single ops; of several that name an op the last counts.
  std::vector<OpCost> ops = {};
};

/// Costs and memory of `placement` when the sizes of its ops are not given: default_memory().
[[nodiscard]] Terms uniform_terms(const Placement& placement, const UniformCosts& costs);

}  // namespace pipeloom
