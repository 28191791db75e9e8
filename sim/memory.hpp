#pragma once

// What a rank holds while it runs its queue, and the most it ever holds.
//
// Activations of (s,k) are allocated at the start of F. The end of I frees `released_at_input`, the end of
// W the rest; the end of B frees everything. A rank runs one entry at a time, so the activation peak
// follows from the queue order alone: a release comes before the next entry's allocation, and a group
// allocates all its forwards before it releases anything.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/costs.hpp"
#include "sim/schedule.hpp"
#include "sim/timeline.hpp"

namespace pipeloom {

/// Shapes: everything is indexed by slot (replica * S + stage), in bytes.
struct MemoryModel {
  /// Held from F to the op that frees it.
  std::vector<Bytes> activation;
  /// The part of `activation` that the end of I frees; 0 <= it <= activation.
  std::vector<Bytes> released_at_input;
  /// Weights, gradients, optimizer state: always held.
  std::vector<Bytes> static_bytes;
  /// A tensor under way to this slot: held from the end of its producer on another rank to the end of the
  /// op that consumes it.
  std::vector<Bytes> receive;
  /// Output of the last stage: held from the start of F(S-1,k) to the end of B or I(S-1,k). Zero elsewhere.
  std::vector<Bytes> logits;
  /// Per rank; no value means no limit.
  std::optional<Bytes> limit;
};

/// One byte of activation per stage pass, nothing else: peaks then count live activations.
[[nodiscard]] MemoryModel default_memory(const Placement& placement);

/// What an op does to its rank's activation account: taken at its start, given back at its end.
struct QueueEffect {
  Bytes taken = 0;
  Bytes given = 0;
  std::int32_t live_taken = 0;
  std::int32_t live_given = 0;
};
/// `forward_only`: no backward follows, so F gives back what it took.
[[nodiscard]] QueueEffect queue_effect(const MemoryModel& model, OpKind kind, Slot slot, bool forward_only);

/// A rank's bytes as a step function: from `time` on, `bytes` are held (static included).
struct MemoryStep {
  Ticks time = 0;
  Bytes bytes = 0;
  friend bool operator==(const MemoryStep&, const MemoryStep&) = default;
};

struct RankMemory {
  /// Most (stage, microbatch) pairs between F and the end of B or W, in queue order.
  std::int32_t peak_live = 0;
  /// Most activation bytes held at once.
  Bytes peak_activation_bytes = 0;
  /// Most bytes of everything held at once, static included.
  Bytes peak_bytes = 0;
  /// Op index of the first entry at whose start peak_bytes is reached.
  std::size_t peak_op = 0;
};

/// The memory of rank r in step `step` of a timeline; changes at the same instant are merged,
/// releases before allocations. The curve starts at the step's first start with the static bytes.
[[nodiscard]] std::vector<MemoryStep> memory_curve(const Timeline& timeline, const MemoryModel& model,
                                                   Rank rank, int step = 0);

/// Peaks of every rank in the first step. O(ops log ops) with receive buffers, O(ops) without.
[[nodiscard]] std::vector<RankMemory> measure_memory(const Timeline& timeline, const MemoryModel& model);

/// The first op, over all ranks in time order, whose start lifts its rank above the limit.
struct OverLimit {
  Rank rank;
  Op op;
  Bytes bytes = 0;
  Bytes limit = 0;
};
[[nodiscard]] std::optional<OverLimit> find_over_limit(const Timeline& timeline, const MemoryModel& model);

}  // namespace pipeloom
