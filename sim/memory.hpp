#pragma once

// Accounts of the bytes that a rank holds as its ops run, from which the peaks follow. The rules: <pipeloom/costs.hpp>.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/metrics.hpp>
#include "sim/kinds.hpp"

namespace pipeloom {

/// The number of bytes as JSON has it: whole, but for halves and thirds of activations without a size.
[[nodiscard]] std::string bytes_number(const MemoryModel& model, Bytes units);

/// Bytes of an op in its rank's activation account: taken at its start, given back at its end.
struct QueueEffect {
  Bytes taken = 0;
  Bytes given = 0;
  std::int32_t live_taken = 0;
  std::int32_t live_given = 0;
};
/// The parts of a pass's bytes, and how its ops change them.
struct PassBytes {
  Bytes whole = 0;  ///< all activations
  Bytes kept = 0;   ///< bytes that F leaves
  Bytes early = 0;  ///< bytes that the end of I frees
  Bytes stash = 0;  ///< bytes that R needs

  [[nodiscard]] Bytes of(Share share) const;
};
/// `forward_only`: no backward follows, so F gives back what it took. REQUIRES: the schedule is not extended
/// (Schedule::is_extended): ActivationEffects covers those too.
[[nodiscard]] QueueEffect queue_effect(const MemoryModel& model, OpKind kind, Slot slot, bool forward_only);

/// Bytes of an op in its rank's account of logits, which are held beside activations: those of the last stage from its F to its B or I, or,
/// where all stages share the output layer, an equal part of them on each, from S to T. A slice's are a share.
struct LogitsEffect {
  Bytes taken = 0;
  Bytes given = 0;
};
[[nodiscard]] LogitsEffect logits_effect(const Schedule& schedule, const MemoryModel& model, Op op,
                                         Slot slot);

/// A slice's part of what a whole microbatch takes.
[[nodiscard]] inline Bytes slice_of(const MemoryModel& model, Bytes whole, Op op) {
  return model.slice_end.empty() ? whole : slice_share(whole, model.slice_end, op.slice());
}

/// The effect of every op, with recomputation, copies and slices. A copy's bytes count at its own times: O gives at its end, L
/// takes at its start.
class ActivationEffects {
 public:
  /// Both must outlive it. O(ops) if anything is recomputed, else O(1).
  ActivationEffects(const Schedule& schedule, const MemoryModel& model);
  [[nodiscard]] QueueEffect of(Op op) const;

 private:
  [[nodiscard]] bool is_recomputed(Op op) const;
  [[nodiscard]] Bytes share(Bytes whole, Op op) const { return slice_of(*model_, whole, op); }

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

/// Peaks that follow from the order of a queue alone.
struct QueuePeaks {
  std::int32_t live = 0;
  Bytes activation_bytes = 0;
  /// Everything, static and logits included, receive buffers apart.
  Bytes bytes = 0;
};
/// The same peaks as measure_memory(), [rank], without a timeline. `bytes` is right only where no entry lasts 0 ticks (else the bytes that
/// it gives back count before it takes any), groups do not run one after another, and nothing is received into buffers.
/// REQUIRES: no copies (Schedule::has_copies): their times matter.
[[nodiscard]] std::vector<QueuePeaks> measure_queues(const Schedule& schedule, const MemoryModel& model);

[[nodiscard]] std::optional<OverLimit> find_over_limit(const Timeline& timeline, const MemoryModel& model);

// Memory as people read it: bytes where sizes are given, else activations.

/// No stage of a model holds something smaller.
inline constexpr Bytes kLeastRealBytes = 4096;

/// True if the model's sizes are relative ones: the default (1 for an activation, nothing else), or numbers that are all below
/// kLeastRealBytes. Memory is then given in activations of a stage, of which the largest counts as one.
[[nodiscard]] bool counts_activations(const MemoryModel& model);

/// `units` of the model (MemoryModel::parts) as "81.1 GB (75.5 GiB)"; "32 activations of a stage".
[[nodiscard]] std::string memory_text(const MemoryModel& model, Bytes units);
/// The same of a number of bytes, as metrics and MemoryModel::in_bytes() give it.
[[nodiscard]] std::string memory_text_of_bytes(const MemoryModel& model, double bytes);
/// The same for a cell of a table: "81.1 GB"; "32".
[[nodiscard]] std::string memory_cell(const MemoryModel& model, Bytes units);

}  // namespace pipeloom
