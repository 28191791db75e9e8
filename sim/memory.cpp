#include "sim/memory.hpp"

#include <algorithm>

#include "sim/tensor_index.hpp"

namespace pipeloom {
namespace {

/// A change of a rank's bytes. At equal times releases come first, then allocations, so that back-to-back entries do not
/// overlap in the account.
struct Change {
  Ticks time = 0;
  Bytes delta = 0;
  std::size_t op = 0;
  friend bool operator<(const Change& a, const Change& b) {
    return a.time != b.time ? a.time < b.time : (a.delta < 0) && !(b.delta < 0);
  }
};

class Account {
 public:
  Account(const Timeline& timeline, const MemoryModel& model, Rank rank, int step)
      : timeline_(timeline),
        schedule_(*timeline.schedule),
        model_(model),
        effects_(*timeline.schedule, model),
        step_(step) {
    for (std::size_t i = schedule_.queue_begin(rank); i < schedule_.queue_end(rank); ++i) add_op(i);
  }

  /// Buffers that hold incoming tensors while they travel and until they are consumed. `produced` is the end of every
  /// tensor's producer.
  void add_receives(Rank rank, const std::vector<Ticks>& produced) {
    const TensorIndex index(schedule_);
    for (std::size_t i = schedule_.queue_begin(rank); i < schedule_.queue_end(rank); ++i) {
      const Op op = schedule_.ops()[i];
      const std::size_t tensor = index.input_of(op);
      const Bytes bytes = model_.receive[schedule_.slot_of(op).at()];
      if (bytes == 0 || tensor < index.first_produced() || !comes_from_elsewhere(op)) continue;
      changes_.push_back({produced[tensor], bytes, i});
      changes_.push_back({timeline_.end_of(i, step_), -bytes, i});
    }
  }

  std::vector<Change> sorted() && {
    std::stable_sort(changes_.begin(), changes_.end());
    return std::move(changes_);
  }

 private:
  [[nodiscard]] bool comes_from_elsewhere(Op op) const {
    const Slot slot = schedule_.slot_of(op);
    const Placement& placement = schedule_.placement();
    if (op.kind() == OpKind::Forward) return placement.rank_of(slot) != placement.rank_of(slot - 1);
    if (!carries_gradient(op.kind()) || op.stage().value() + 1 == schedule_.stages()) return false;
    return placement.rank_of(slot) != placement.rank_of(slot + 1);
  }

  void add(Ticks time, Bytes delta, std::size_t op) {
    if (delta != 0) changes_.push_back({time, delta, op});
  }

  void add_op(std::size_t i) {
    const Op op = schedule_.ops()[i];
    const QueueEffect effect = effects_.of(op);
    const Bytes logits = model_.logits[schedule_.slot_of(op).at()];
    const bool is_forward = op.kind() == OpKind::Forward;
    const bool ends_logits = carries_gradient(op.kind()) || (is_forward && schedule_.is_forward_only());
    add(timeline_.start_of(i, step_), effect.taken + (is_forward ? logits : 0), i);
    add(timeline_.end_of(i, step_), -effect.given - (ends_logits ? logits : 0), i);
  }

  const Timeline& timeline_;
  const Schedule& schedule_;
  const MemoryModel& model_;
  ActivationEffects effects_;
  int step_;
  std::vector<Change> changes_;
};

bool any_receive(const MemoryModel& model) {
  return std::any_of(model.receive.begin(), model.receive.end(), [](Bytes bytes) { return bytes > 0; });
}

/// End of the producer of every tensor, [tensor].
std::vector<Ticks> produced_times(const Timeline& timeline, int step) {
  const Schedule& schedule = *timeline.schedule;
  const TensorIndex index(schedule);
  std::vector<Ticks> produced(index.size(), 0);
  for (std::size_t i = 0; i < schedule.num_ops(); ++i)
    produced[index.output_of(schedule.ops()[i])] = timeline.end_of(i, step);
  return produced;
}

std::vector<Change> changes_of(const Timeline& timeline, const MemoryModel& model, Rank rank, int step,
                               const std::vector<Ticks>& produced) {
  Account account(timeline, model, rank, step);
  if (!produced.empty()) account.add_receives(rank, produced);
  return std::move(account).sorted();
}

Bytes static_of(const Schedule& schedule, const MemoryModel& model, Rank rank) {
  Bytes bytes = 0;
  for (const Slot slot : schedule.placement().slots_of(rank)) bytes += model.static_bytes[slot.at()];
  return bytes;
}

/// Peaks of activations alone, in queue order; times matter only to copies.
RankMemory activation_peaks(const Timeline& timeline, const ActivationEffects& effects, Rank rank) {
  const Schedule& schedule = *timeline.schedule;
  RankMemory memory;
  std::int32_t live = 0;
  PeakWithCopies held;
  for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                 [&](std::size_t first, std::size_t last) {
                   QueueEffect sum;
                   for (std::size_t i = first; i < last; ++i) {
                     const QueueEffect effect = effects.of(schedule.ops()[i]);
                     sum.taken += effect.taken;
                     sum.given += effect.given;
                     sum.live_taken += effect.live_taken;
                     sum.live_given += effect.live_given;
                   }
                   const OpKind kind = schedule.ops()[first].kind();
                   const Span span{timeline.start_of(first), timeline.end_of(last - 1)};
                   if (kind == OpKind::Offload) return held.add_copy(span.end, -sum.given);
                   if (kind == OpKind::Reload) return held.add_copy(span.start, sum.taken);
                   live += sum.live_taken;
                   memory.peak_live = std::max(memory.peak_live, live);
                   live -= sum.live_given;
                   held.add_entry(span, sum.taken, sum.given);
                 });
  memory.peak_activation_bytes = held.peak();
  return memory;
}

/// One stream runs a rank's copies in queue order, so their bytes on the host follow from that order alone.
Bytes host_peak(const Schedule& schedule, const ActivationEffects& effects, Rank rank) {
  Bytes held = 0;
  Bytes peak = 0;
  for (const Op op : schedule.queue(rank)) {
    if (op.kind() == OpKind::Offload) held += effects.of(op).given;
    peak = std::max(peak, held);
    if (op.kind() == OpKind::Reload) held -= effects.of(op).taken;
  }
  return peak;
}

}  // namespace

MemoryModel default_memory(const Placement& placement) {
  const auto slots = static_cast<std::size_t>(placement.slots());
  MemoryModel model;
  model.activation.assign(slots, 1);
  for (auto* table :
       {&model.released_at_input, &model.static_bytes, &model.receive, &model.logits, &model.stash})
    table->assign(slots, 0);
  return model;
}

QueueEffect queue_effect(const MemoryModel& model, OpKind kind, Slot slot, bool forward_only) {
  const Bytes whole = model.activation[slot.at()];
  const Bytes early = model.released_at_input[slot.at()];
  switch (kind) {
    case OpKind::Forward:
      return {whole, forward_only ? whole : 0, 1, forward_only ? 1 : 0};
    case OpKind::Backward:
      return {0, whole, 0, 1};
    case OpKind::BackwardInput:
      return {0, early, 0, 0};
    case OpKind::BackwardWeight:
      return {0, whole - early, 0, 1};
    case OpKind::Recompute:
    case OpKind::Offload:
    case OpKind::Reload:
      break;
  }
  return {};
}

ActivationEffects::ActivationEffects(const Schedule& schedule, const MemoryModel& model)
    : schedule_(&schedule), model_(&model) {
  if (!schedule.contains(OpKind::Recompute)) return;
  const auto units = static_cast<std::size_t>(schedule.units());
  recomputed_.resize(static_cast<std::size_t>(schedule.stages()) * units);
  for (const Op op : schedule.ops())
    if (op.kind() == OpKind::Recompute) recomputed_[op.stage().at() * units + schedule.unit_of(op)] = true;
}

bool ActivationEffects::is_recomputed(Op op) const {
  return !recomputed_.empty() &&
         recomputed_[op.stage().at() * static_cast<std::size_t>(schedule_->units()) + schedule_->unit_of(op)];
}

QueueEffect ActivationEffects::of(Op op) const {
  const Slot slot = schedule_->slot_of(op);
  const Bytes whole = share(model_->activation[slot.at()], op);
  const Bytes stash = share(model_->stash[slot.at()], op);
  const Bytes kept = is_recomputed(op) ? stash : whole;
  switch (op.kind()) {
    case OpKind::Forward: {
      const bool forward_only = schedule_->is_forward_only();
      return {kept, forward_only ? kept : 0, 1, forward_only ? 1 : 0};
    }
    case OpKind::Recompute:
      return {whole - stash, 0, 0, 0};
    case OpKind::Offload:
      return {0, kept, 0, 0};
    case OpKind::Reload:
      return {kept, 0, 0, 0};
    case OpKind::Backward:
      return {0, whole, 0, 1};
    case OpKind::BackwardInput:
      return {0, share(model_->released_at_input[slot.at()], op), 0, 0};
    case OpKind::BackwardWeight:
      return {0, whole - share(model_->released_at_input[slot.at()], op), 0, 1};
  }
  return {};
}

/// Copies that changed something before `when`; at `when` itself only releases, which come before allocations, unless
/// `and_takes`.
void PeakWithCopies::apply_until(Ticks when, bool and_takes) {
  for (; next_ < copies_.size(); ++next_) {
    const Copy& copy = copies_[next_];
    if (copy.when > when || (copy.when == when && copy.delta > 0 && !and_takes)) return;
    held_ += copy.delta;
    peak_ = std::max(peak_, held_);
  }
}

void PeakWithCopies::add_entry(Span entry, Bytes taken, Bytes given) {
  apply_until(entry.start, true);
  held_ += taken;
  peak_ = std::max(peak_, held_);
  apply_until(entry.end, false);
  held_ -= given;
}

std::vector<MemoryStep> memory_curve(const Timeline& timeline, const MemoryModel& model, Rank rank,
                                     int step) {
  const auto produced = any_receive(model) ? produced_times(timeline, step) : std::vector<Ticks>{};
  Bytes bytes = static_of(*timeline.schedule, model, rank);
  std::vector<MemoryStep> curve = {{span_of(timeline, step).start, bytes}};
  for (const Change& change : changes_of(timeline, model, rank, step, produced)) {
    bytes += change.delta;
    if (curve.back().time == change.time)
      curve.back().bytes = bytes;
    else
      curve.push_back({change.time, bytes});
  }
  return curve;
}

std::vector<RankMemory> measure_memory(const Timeline& timeline, const MemoryModel& model) {
  const Schedule& schedule = *timeline.schedule;
  const auto produced = any_receive(model) ? produced_times(timeline, 0) : std::vector<Ticks>{};
  const ActivationEffects effects(schedule, model);
  std::vector<RankMemory> result;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    RankMemory memory = activation_peaks(timeline, effects, rank);
    if (schedule.has_copies()) memory.peak_host_bytes = host_peak(schedule, effects, rank);
    Bytes bytes = static_of(schedule, model, rank);
    memory.peak_bytes = bytes;
    memory.peak_op = schedule.queue_begin(rank);
    for (const Change& change : changes_of(timeline, model, rank, 0, produced)) {
      bytes += change.delta;
      if (bytes > memory.peak_bytes) {
        memory.peak_bytes = bytes;
        memory.peak_op = change.op;
      }
    }
    result.push_back(memory);
  }
  return result;
}

std::optional<OverLimit> find_over_limit(const Timeline& timeline, const MemoryModel& model) {
  if (!model.limit) return std::nullopt;
  const Schedule& schedule = *timeline.schedule;
  const auto produced = any_receive(model) ? produced_times(timeline, 0) : std::vector<Ticks>{};
  std::optional<OverLimit> first;
  Ticks first_time = kMaxTicks;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    Bytes bytes = static_of(schedule, model, rank);
    for (const Change& change : changes_of(timeline, model, rank, 0, produced)) {
      bytes += change.delta;
      if (bytes <= *model.limit || change.time >= first_time) continue;
      first_time = change.time;
      first = OverLimit{rank, schedule.ops()[change.op].with_joined(false), bytes, *model.limit};
      break;
    }
  }
  return first;
}

}  // namespace pipeloom
