#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <pipeloom/metrics.hpp>
#include "sim/analysis/queue_account.hpp"
#include "sim/kinds.hpp"
#include "sim/memory.hpp"
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

bool any(const std::vector<Bytes>& table) {
  return std::any_of(table.begin(), table.end(), [](Bytes bytes) { return bytes > 0; });
}

/// Bytes that ranks take and give back in steps [first, last).
class Accounts {
 public:
  Accounts(const Timeline& timeline, const MemoryModel& model, int first_step, int last_step)
      : timeline_(timeline),
        schedule_(*timeline.schedule),
        model_(model),
        effects_(schedule_, model),
        tensors_(schedule_),
        first_step_(first_step),
        last_step_(last_step),
        any_logits_(any(model.logits)) {
    if (any(model.receive))
      for (int step = first_step; step < last_step; ++step) produced_.push_back(produced_times(step));
  }

  [[nodiscard]] const ActivationEffects& effects() const { return effects_; }

  /// The changes of a rank in time order; they stay until the next call.
  const std::vector<Change>& of(Rank rank) {
    changes_.clear();
    for (int step = first_step_; step < last_step_; ++step) {
      for (std::size_t i = schedule_.queue_begin(rank); i < schedule_.queue_end(rank); ++i) add_op(i, step);
      if (!produced_.empty()) add_receives(rank, step);
    }
    if (!std::is_sorted(changes_.begin(), changes_.end())) std::stable_sort(changes_.begin(), changes_.end());
    return changes_;
  }

 private:
  /// End of the producer of every tensor, [tensor].
  [[nodiscard]] std::vector<Ticks> produced_times(int step) const {
    std::vector<Ticks> produced(tensors_.size(), 0);
    for (std::size_t i = 0; i < schedule_.num_ops(); ++i)
      produced[tensors_.output_of(schedule_.ops()[i])] = timeline_.end_of(i, step);
    return produced;
  }

  [[nodiscard]] bool comes_from_elsewhere(Op op) const {
    const Slot slot = schedule_.slot_of(op);
    const Placement& placement = schedule_.placement();
    const int step = step_to_producer(op.kind());
    const int other = op.stage().value() + step;
    if (other < 0 || other >= schedule_.stages()) return false;
    return placement.rank_of(slot) != placement.rank_of(slot + step);
  }

  void add(Ticks time, Bytes delta, std::size_t op) {
    if (delta != 0) changes_.push_back({time, delta, op});
  }

  void add_op(std::size_t i, int step) {
    const Op op = schedule_.ops()[i];
    const QueueEffect effect = effects_.of(op);
    const LogitsEffect logits =
        any_logits_ ? logits_effect(schedule_, model_, op, schedule_.slot_of(op)) : LogitsEffect();
    add(timeline_.start_of(i, step), effect.taken + logits.taken, i);
    add(timeline_.end_of(i, step), -effect.given - logits.given, i);
  }

  /// Buffers that hold incoming tensors while they travel and until they are consumed.
  void add_receives(Rank rank, int step) {
    const std::vector<Ticks>& produced = produced_[static_cast<std::size_t>(step - first_step_)];
    for (std::size_t i = schedule_.queue_begin(rank); i < schedule_.queue_end(rank); ++i) {
      const Op op = schedule_.ops()[i];
      const std::size_t tensor = tensors_.input_of(op);
      const Bytes bytes = slice_of(model_, model_.receive[schedule_.slot_of(op).at()], op);
      if (bytes == 0 || tensor < tensors_.first_produced() || !comes_from_elsewhere(op)) continue;
      changes_.push_back({produced[tensor], bytes, i});
      changes_.push_back({timeline_.end_of(i, step), -bytes, i});
    }
  }

  const Timeline& timeline_;
  const Schedule& schedule_;
  const MemoryModel& model_;
  ActivationEffects effects_;
  TensorIndex tensors_;
  int first_step_;
  int last_step_;
  bool any_logits_;
  std::vector<std::vector<Ticks>>
      produced_;  // [step - first_step_][tensor]; empty: nothing is received into buffers
  std::vector<Change> changes_;
};

/// True if a rank's account follows from its queue: entries of at least one tick, one after another, whose parts share their times.
bool follows_queue(const Timeline& timeline, Rank rank) {
  const Schedule& schedule = *timeline.schedule;
  bool follows = true;
  Ticks free_since = std::numeric_limits<Ticks>::min();
  for (std::size_t i = schedule.queue_begin(rank); i < schedule.queue_end(rank); ++i) {
    const Ticks start = timeline.start[i];
    const Ticks end = timeline.end[i];
    const bool joins = i > schedule.queue_begin(rank) && schedule.ops()[i - 1].joined();
    follows &= joins ? start == timeline.start[i - 1] && end == timeline.end[i - 1] : start >= free_since;
    follows &= end > start;
    free_since = end;
  }
  return follows;
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
                   const Span span{timeline.start_of(first), timeline.end_of(last - 1)};
                   if (is_copy(schedule.ops()[first].kind()))
                     return held.add_copy(span, sum.taken, sum.given);
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
    if (!is_copy(op.kind())) continue;
    const QueueEffect effect = effects.of(op);
    held += effect.given;
    peak = std::max(peak, held);
    held -= effect.taken;
  }
  return peak;
}

/// The account of one rank where times matter: its changes in time order.
RankMemory memory_by_times(const Timeline& timeline, Accounts& accounts, Bytes always, Rank rank) {
  const Schedule& schedule = *timeline.schedule;
  RankMemory memory = activation_peaks(timeline, accounts.effects(), rank);
  if (schedule.has_copies()) memory.peak_host_bytes = host_peak(schedule, accounts.effects(), rank);
  Bytes bytes = always;
  memory.peak_bytes = bytes;
  memory.peak_op = schedule.queue_begin(rank);
  for (const Change& change : accounts.of(rank)) {
    bytes += change.delta;
    if (bytes <= memory.peak_bytes) continue;
    memory.peak_bytes = bytes;
    memory.peak_op = change.op;
  }
  return memory;
}

void write_curve(const std::vector<Change>& changes, Ticks start, Bytes bytes,
                 std::vector<MemoryStep>& curve) {
  curve.assign(1, {start, bytes});
  for (const Change& change : changes) {
    bytes += change.delta;
    if (curve.back().time == change.time)
      curve.back().bytes = bytes;
    else
      curve.push_back({change.time, bytes});
  }
}

}  // namespace

std::vector<MemoryStep> memory_curve(const Timeline& timeline, const MemoryModel& model, Rank rank,
                                     int step) {
  std::vector<MemoryStep> curve;
  write_curve(Accounts(timeline, model, step, step + 1).of(rank), span_of(timeline, step).start,
              static_bytes_of(*timeline.schedule, model, rank), curve);
  return curve;
}

void each_memory_curve(const Timeline& timeline, const MemoryModel& model,
                       const std::function<void(Rank, const std::vector<MemoryStep>&)>& fn) {
  const Schedule& schedule = *timeline.schedule;
  const Ticks start = span_of(timeline).start;
  Accounts accounts(timeline, model, 0, timeline.steps);
  std::vector<MemoryStep> curve;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    write_curve(accounts.of(rank), start, static_bytes_of(schedule, model, rank), curve);
    fn(rank, curve);
  }
}

std::vector<RankMemory> measure_memory(const Timeline& timeline, const MemoryModel& model) {
  const Schedule& schedule = *timeline.schedule;
  const QueueAccounts queues(schedule, model);
  const bool order_decides = !schedule.has_copies() && !any(model.receive);
  std::optional<Accounts> accounts;  // only where times matter
  std::vector<RankMemory> result;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    if (order_decides && follows_queue(timeline, rank)) {
      result.push_back(queues.peaks(rank));
      continue;
    }
    if (!accounts) accounts.emplace(timeline, model, 0, 1);
    result.push_back(memory_by_times(timeline, *accounts, static_bytes_of(schedule, model, rank), rank));
  }
  return result;
}

std::optional<OverLimit> find_over_limit(const Timeline& timeline, const MemoryModel& model) {
  if (model.limit.empty()) return std::nullopt;
  const Schedule& schedule = *timeline.schedule;
  const std::vector<RankMemory> peaks = measure_memory(timeline, model);
  std::optional<Accounts> accounts;  // only where a rank is over its limit
  std::optional<OverLimit> first;
  Ticks first_time = kMaxTicks;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    const Bytes limit = model.limit[rank.at()];
    if (peaks[rank.at()].peak_bytes <= limit) continue;
    if (!accounts) accounts.emplace(timeline, model, 0, 1);
    Bytes bytes = static_bytes_of(schedule, model, rank);
    for (const Change& change : accounts->of(rank)) {
      bytes += change.delta;
      if (bytes <= limit || change.time >= first_time) continue;
      first_time = change.time;
      first = OverLimit{rank, schedule.ops()[change.op].with_joined(false), bytes, limit};
      break;
    }
  }
  return first;
}

}  // namespace pipeloom
