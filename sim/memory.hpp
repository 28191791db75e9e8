#pragma once

// What a rank holds while it runs its queue, and the most it ever holds.
//
// Activations of (s,k) are allocated at the start of F. The end of I frees `released_at_input`, the end of
// W the rest; the end of B frees everything. A rank runs one entry at a time, so the activation peak
// follows from the queue order alone: a release comes before the next entry's allocation, and a group
// allocates all its forwards before it releases anything.
//
// With recomputation, F(s,k) holds `stash` only and R(s,k) allocates the rest at its start. With offloading, the end of O frees
// what F holds and the start of L allocates it again; copies run beside the queue, so peaks then follow from times.

#include <cstdint>
#include <functional>
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
  /// What a recomputed forward keeps for its R; 0 <= it <= activation.
  std::vector<Bytes> stash;
  /// Shares of a microbatch's slices in all of the above, as Costs::slice_end; empty: every slice counts whole.
  std::vector<std::int64_t> slice_end;
  /// All of the above and below are in 1/parts of a byte. 1, unless nobody gave the size of an activation and it counts as one on a rank
  /// of v stages: then v.
  int parts = 1;
  /// So many passes of stages are what people call one activation: v where sizes were given for all of a rank's stages, else 1.
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

/// The number of bytes as JSON has it: whole, but for halves and thirds of activations without a size.
[[nodiscard]] std::string bytes_number(const MemoryModel& model, Bytes units);

/// One byte of activation per stage pass, nothing else: peaks then count live activations.
[[nodiscard]] MemoryModel default_memory(const Placement& placement);

/// What an op does to its rank's activation account: taken at its start, given back at its end.
struct QueueEffect {
  Bytes taken = 0;
  Bytes given = 0;
  std::int32_t live_taken = 0;
  std::int32_t live_given = 0;
};
/// The parts of what one pass holds, and what its ops do to them.
struct PassBytes {
  Bytes whole = 0;  ///< all activations
  Bytes kept = 0;   ///< what F leaves
  Bytes early = 0;  ///< what the end of I frees
  Bytes stash = 0;  ///< what R needs

  [[nodiscard]] Bytes of(Share share) const;
};
/// `forward_only`: no backward follows, so F gives back what it took. REQUIRES: the schedule is not extended
/// (Schedule::is_extended): ActivationEffects covers those too.
[[nodiscard]] QueueEffect queue_effect(const MemoryModel& model, OpKind kind, Slot slot, bool forward_only);

/// The effect of every op, with recomputation, copies and slices. A copy's bytes count at its own times: O gives at its end, L
/// takes at its start.
class ActivationEffects {
 public:
  /// Both must outlive it. O(ops) if anything is recomputed, else O(1).
  ActivationEffects(const Schedule& schedule, const MemoryModel& model);
  [[nodiscard]] QueueEffect of(Op op) const;

 private:
  [[nodiscard]] bool is_recomputed(Op op) const;
  [[nodiscard]] Bytes share(Bytes whole, Op op) const {
    return model_->slice_end.empty() ? whole : slice_share(whole, model_->slice_end, op.slice());
  }

  const Schedule* schedule_;
  const MemoryModel* model_;
  std::vector<bool> recomputed_;  // [stage * units + unit]; empty: none is
};

/// The most a rank holds, its copies counted at their times: feed it the rank's ops in queue order.
class PeakWithCopies {
 public:
  /// A copy that was issued: it takes `taken` at its start or gives `given` at its end.
  void add_copy(Span copy, Bytes taken, Bytes given) {
    copies_.push_back(given > 0 ? Copy{copy.end, -given} : Copy{copy.start, taken});
  }
  /// An entry that starts at `start` takes `taken`, and gives `given` at `end`.
  void add_entry(Span entry, Bytes taken, Bytes given);
  [[nodiscard]] Bytes peak() const { return peak_; }

 private:
  struct Copy {
    Ticks when = 0;
    Bytes delta = 0;
  };
  void apply_until(Ticks when, bool and_takes);

  std::vector<Copy> copies_;  // in time order: one stream runs them one after another
  std::size_t next_ = 0;
  Bytes held_ = 0;
  Bytes peak_ = 0;
};

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
  /// Most bytes of this rank's activations on the host at once: from the start of O to the end of L.
  Bytes peak_host_bytes = 0;
};

/// The memory of rank r in step `step` of a timeline; changes at the same instant are merged,
/// releases before allocations. The curve starts at the step's first start with the static bytes.
[[nodiscard]] std::vector<MemoryStep> memory_curve(const Timeline& timeline, const MemoryModel& model,
                                                   Rank rank, int step = 0);

/// The curves of all ranks over all steps: calls fn(rank, curve) for rank 0, 1, .. p-1; a curve is gone after its call. Costs what one
/// rank's curve costs in memory, and less time than memory_curve() rank by rank.
void each_memory_curve(const Timeline& timeline, const MemoryModel& model,
                       const std::function<void(Rank, const std::vector<MemoryStep>&)>& fn);

/// Peaks of every rank in the first step. O(ops log ops) with receive buffers, O(ops) without.
[[nodiscard]] std::vector<RankMemory> measure_memory(const Timeline& timeline, const MemoryModel& model);

/// What the order of a queue alone decides.
struct QueuePeaks {
  std::int32_t live = 0;
  Bytes activation_bytes = 0;
  /// Everything, static and logits included, receive buffers apart.
  Bytes bytes = 0;
};
/// The same peaks as measure_memory(), [rank], without a timeline. `bytes` is right only where no entry lasts 0 ticks (else what it
/// gives back counts before it takes anything), groups do not run one after another, and nothing is received into buffers.
/// REQUIRES: no copies (Schedule::has_copies): their times matter.
[[nodiscard]] std::vector<QueuePeaks> measure_queues(const Schedule& schedule, const MemoryModel& model);

/// The first op, over all ranks in time order, whose start lifts its rank above the limit.
struct OverLimit {
  Rank rank;
  Op op;
  Bytes bytes = 0;
  Bytes limit = 0;
};
[[nodiscard]] std::optional<OverLimit> find_over_limit(const Timeline& timeline, const MemoryModel& model);

}  // namespace pipeloom
