#include "sim/simulator.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "sim/error.hpp"
#include "sim/tensor_index.hpp"
#include "sim/wait_for.hpp"

namespace pipeloom {
namespace {

/// Marks a tensor that has not been produced. Times are never negative.
constexpr Ticks kAbsent = -1;
constexpr std::size_t kNotWaiting = std::numeric_limits<std::size_t>::max();

/// Everything the loop must know about the ops of one kind on one slot.
struct Action {
  std::size_t input = 0;   // tensor waited for, minus the microbatch
  std::size_t output = 0;  // tensor written, minus the microbatch
  Ticks duration = 0;
  Ticks delay = 0;            // from the producer's end to the tensor's arrival
  std::int32_t consumer = 0;  // rank that may wait for the output
  std::int32_t live_taken = 0;
  std::int32_t live_given = 0;
  Bytes bytes_taken = 0;
  Bytes bytes_given = 0;
};

/// A rank between two visits; one cache line, since a visit may run a single entry.
struct alignas(64) Cursor {
  std::size_t next = 0;
  std::size_t end = 0;
  std::size_t waits_for = kNotWaiting;
  Ticks clock = 0;
  Ticks busy = 0;
  Bytes held = 0;
  Bytes peak_held = 0;
  std::int32_t live = 0;
  std::int32_t peak_live = 0;
};

/// Where op times go; null when nobody wants them.
struct Times {
  Ticks* start = nullptr;
  Ticks* end = nullptr;
};

void fill_memory(Action& action, OpKind kind, bool forward_only, Bytes activation, Bytes released_early) {
  switch (kind) {
    case OpKind::Forward:
      action.live_taken = 1;
      action.bytes_taken = activation;
      action.live_given = forward_only ? 1 : 0;
      action.bytes_given = forward_only ? activation : 0;
      break;
    case OpKind::Backward:
      action.live_given = 1;
      action.bytes_given = activation;
      break;
    case OpKind::BackwardInput:
      action.bytes_given = released_early;
      break;
    case OpKind::BackwardWeight:
      action.live_given = 1;
      action.bytes_given = activation - released_early;
      break;
  }
}

/// The rank that may wait for what an op of this kind on this slot writes. (Own rank where there is no other: it is
/// never asleep while it runs.)
Rank consumer_of(const Placement& placement, OpKind kind, Slot slot) {
  const int stage = placement.stage_of(slot).value();
  if (kind == OpKind::Forward && stage + 1 < placement.stages()) return placement.rank_of(slot + 1);
  if (carries_gradient(kind) && stage > 0) return placement.rank_of(slot - 1);
  return placement.rank_of(slot);
}

Ticks delay_into(const Costs& costs, OpKind kind, Slot slot) {
  if (kind == OpKind::Forward) return costs.forward_delay[slot.at()];
  return carries_gradient(kind) ? costs.backward_delay[slot.at()] : 0;
}

}  // namespace

struct Simulator::State {
  std::vector<Action> actions;  // [kind * slots + slot]
  std::vector<Ticks> tensors;   // end of the producer, [tensor]
  std::vector<Cursor> cursors;  // [rank]
  std::vector<std::int32_t> runnable;
  std::size_t slots = 0;
  std::size_t entries_done = 0;

  void prepare(const Schedule& schedule, const Costs& costs, const MemoryModel& memory,
               const std::vector<Ticks>& ready);
  void fill_actions(const Schedule& schedule, const Costs& costs, const MemoryModel& memory);
  template <bool kTimes>
  void run(const Schedule& schedule, const Costs& costs, Times times);
  template <bool kTimes>
  void run_plain(const Schedule& schedule, Cursor& cursor, Times times);
  template <bool kTimes>
  void run_general(const Schedule& schedule, const Costs& costs, Cursor& cursor, Times times);
  template <bool kTimes>
  Ticks finish_entry(const Schedule& schedule, const Costs& costs, std::size_t first, std::size_t last,
                     Ticks start, Times times);
  [[nodiscard]] Totals totals(const Schedule& schedule, const std::vector<Ticks>& first_start) const;
  [[nodiscard]] Deadlock explain(const Schedule& schedule) const;

  [[nodiscard]] const Action& action_of(const Schedule& schedule, Op op) const {
    return actions[index_of(op.kind()) * slots + schedule.slot_of(op).at()];
  }
  void publish(const Action& action, Microbatch microbatch, Ticks end) {
    const std::size_t tensor = action.output + microbatch.at();
    tensors[tensor] = end;
    Cursor& consumer = cursors[static_cast<std::size_t>(action.consumer)];
    if (consumer.waits_for == tensor) {
      consumer.waits_for = kNotWaiting;
      runnable.push_back(action.consumer);
    }
  }
};

void Simulator::State::fill_actions(const Schedule& schedule, const Costs& costs, const MemoryModel& memory) {
  const Placement& placement = schedule.placement();
  const TensorIndex index(schedule.stages(), schedule.microbatches());
  slots = static_cast<std::size_t>(placement.slots());
  actions.assign(kOpKinds * slots, {});
  for (const OpKind kind : kAllOpKinds)
    for (Slot slot{0}; slot < Slot(placement.slots()); ++slot) {
      Action& action = actions[index_of(kind) * slots + slot.at()];
      action.input = index.input_base(kind, placement.stage_of(slot));
      action.output = index.output_base(kind, placement.stage_of(slot));
      action.duration = costs.duration[index_of(kind)][slot.at()];
      action.delay = delay_into(costs, kind, slot);
      action.consumer = consumer_of(placement, kind, slot).value();
      fill_memory(action, kind, schedule.is_forward_only(), memory.activation[slot.at()],
                  memory.released_at_input[slot.at()]);
    }
}

void Simulator::State::prepare(const Schedule& schedule, const Costs& costs, const MemoryModel& memory,
                               const std::vector<Ticks>& ready) {
  fill_actions(schedule, costs, memory);
  const TensorIndex index(schedule.stages(), schedule.microbatches());
  tensors.assign(index.size(), kAbsent);
  std::fill_n(tensors.begin(), index.first_produced(), Ticks{0});
  cursors.assign(static_cast<std::size_t>(schedule.ranks()), {});
  runnable.clear();
  // A stack: the last rank pushed runs first, so start with rank 0 on top.
  for (Rank rank(schedule.ranks() - 1); rank >= Rank(0); rank = rank - 1) {
    Cursor& cursor = cursors[rank.at()];
    cursor.next = schedule.queue_begin(rank);
    cursor.end = schedule.queue_end(rank);
    cursor.clock = ready.empty() ? 0 : ready[rank.at()];
    runnable.push_back(rank.value());
  }
  entries_done = 0;
}

template <bool kTimes>
void Simulator::State::run(const Schedule& schedule, const Costs& costs, Times times) {
  const bool plain = !schedule.has_groups() && costs.microbatch_scale.empty();
  while (!runnable.empty()) {
    Cursor& cursor = cursors[static_cast<std::size_t>(runnable.back())];
    runnable.pop_back();
    if (plain)
      run_plain<kTimes>(schedule, cursor, times);
    else
      run_general<kTimes>(schedule, costs, cursor, times);
  }
}

/// Runs one rank until an op's tensor is missing. The cursor lives in registers meanwhile.
template <bool kTimes>
void Simulator::State::run_plain(const Schedule& schedule, Cursor& home, Times times) {
  Cursor cursor = home;
  const Op* const ops = schedule.ops().data();
  const std::size_t begun_at = cursor.next;
  for (; cursor.next < cursor.end; ++cursor.next) {
    const Op op = ops[cursor.next];
    const Action& action = action_of(schedule, op);
    const std::size_t input = action.input + op.microbatch().at();
    const Ticks produced = tensors[input];
    if (produced == kAbsent) {
      cursor.waits_for = input;
      break;
    }
    const Ticks start = std::max(cursor.clock, produced + action.delay);
    cursor.clock = start + action.duration;
    cursor.busy += action.duration;
    cursor.live += action.live_taken;
    cursor.held += action.bytes_taken;
    cursor.peak_live = std::max(cursor.peak_live, cursor.live);
    cursor.peak_held = std::max(cursor.peak_held, cursor.held);
    cursor.live -= action.live_given;
    cursor.held -= action.bytes_given;
    if constexpr (kTimes) {
      times.start[cursor.next] = start;
      times.end[cursor.next] = cursor.clock;
    }
    publish(action, op.microbatch(), cursor.clock);
  }
  entries_done += cursor.next - begun_at;
  home = cursor;
}

/// The same with groups and per-microbatch durations.
template <bool kTimes>
void Simulator::State::run_general(const Schedule& schedule, const Costs& costs, Cursor& cursor,
                                   Times times) {
  const auto ops = schedule.ops();
  while (cursor.next < cursor.end) {
    std::size_t last = cursor.next;
    Ticks start = cursor.clock;
    Bytes given = 0;
    do {
      const Action& action = action_of(schedule, ops[last]);
      const std::size_t input = action.input + ops[last].microbatch().at();
      if (tensors[input] == kAbsent) {
        cursor.waits_for = input;
        return;
      }
      start = std::max(start, tensors[input] + action.delay);
    } while (ops[last++].joined());
    std::int32_t live_given = 0;
    for (std::size_t i = cursor.next; i < last; ++i) {
      const Action& action = action_of(schedule, ops[i]);
      cursor.live += action.live_taken;
      cursor.held += action.bytes_taken;
      live_given += action.live_given;
      given += action.bytes_given;
    }
    cursor.peak_live = std::max(cursor.peak_live, cursor.live);
    cursor.peak_held = std::max(cursor.peak_held, cursor.held);
    cursor.live -= live_given;
    cursor.held -= given;
    cursor.clock = finish_entry<kTimes>(schedule, costs, cursor.next, last, start, times);
    cursor.busy += cursor.clock - start;
    cursor.next = last;
    ++entries_done;
  }
}

/// Gives the entry its times and publishes its results; returns its end.
template <bool kTimes>
Ticks Simulator::State::finish_entry(const Schedule& schedule, const Costs& costs, std::size_t first,
                                     std::size_t last, Ticks start, Times times) {
  const bool one_by_one = costs.overlap.rule == OverlapRule::Sequential;
  const Ticks group_end = start + costs.entry_duration(schedule, first, last);
  for (std::size_t i = first; i < last; ++i) {
    const Op op = schedule.ops()[i];
    const Ticks end = one_by_one ? start + costs.op_duration(op, schedule.slot_of(op)) : group_end;
    if constexpr (kTimes) {
      times.start[i] = start;
      times.end[i] = end;
    }
    publish(action_of(schedule, op), op.microbatch(), end);
    if (one_by_one) start = end;
  }
  return group_end;
}

Totals Simulator::State::totals(const Schedule& schedule, const std::vector<Ticks>& first_start) const {
  Totals totals;
  totals.first_start = first_start;
  Ticks earliest = kMaxTicks;
  Ticks latest = 0;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    const Cursor& cursor = cursors[rank.at()];
    totals.last_end.push_back(cursor.clock);
    totals.busy.push_back(cursor.busy);
    totals.peak_live.push_back(cursor.peak_live);
    totals.peak_activation_bytes.push_back(cursor.peak_held);
    if (schedule.queue(rank).empty()) continue;
    earliest = std::min(earliest, first_start[rank.at()]);
    latest = std::max(latest, cursor.clock);
  }
  totals.makespan = std::max(Ticks{0}, latest - earliest);
  return totals;
}

Deadlock Simulator::State::explain(const Schedule& schedule) const {
  std::vector<Wait> waits;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    const Cursor& cursor = cursors[rank.at()];
    if (cursor.next == cursor.end) continue;
    std::size_t op = cursor.next;
    const TensorIndex index(schedule.stages(), schedule.microbatches());
    while (index.input_of(schedule.ops()[op]) != cursor.waits_for) ++op;
    waits.push_back({rank, op, cursor.waits_for});
  }
  return explain_waits(schedule, waits, entries_done);
}

namespace {

/// No chain of entries can pass kMaxTicks. Cheap bound first: entries * (longest duration + longest delay); where that is
/// too coarse, all work and all delays added up, which no chain exceeds either.
void require_times_fit(const Schedule& schedule, const Costs& costs) {
  __extension__ using Wide = __int128;
  Wide longest = 0;
  const auto include = [&longest](const std::vector<Ticks>& table) {
    for (const Ticks value : table) longest = std::max(longest, static_cast<Wide>(value));
  };
  for (const auto& table : costs.duration) include(table);
  include(costs.overlap.duration);
  Wide scale = kUnitScale;
  for (const Scale value : costs.microbatch_scale) scale = std::max(scale, static_cast<Wide>(value));
  longest = longest * scale / kUnitScale * 4;  // a group of up to four parts
  Wide delay = 0;
  for (const auto* table : {&costs.forward_delay, &costs.backward_delay})
    for (const Ticks value : *table) delay = std::max(delay, static_cast<Wide>(value));
  if ((longest + delay) * static_cast<Wide>(schedule.num_entries()) < kMaxTicks) return;
  Wide sum = 0;
  for_each_entry(schedule, 0, schedule.num_ops(), [&](std::size_t first, std::size_t last) {
    sum += costs.entry_duration(schedule, first, last) + delay;
  });
  if (sum >= kMaxTicks)
    throw InputError(
        "the times of this run add up to more than 2^62 ticks (53 days at picosecond resolution); use "
        "shorter durations "
        "or fewer microbatches");
}

/// When each rank's first entry started: recomputed from the tensors, so that the loop need not remember it.
std::vector<Ticks> first_starts(const Schedule& schedule, const Costs& costs,
                                const std::vector<Ticks>& tensors, const std::vector<Ticks>& ready) {
  const TensorIndex index(schedule.stages(), schedule.microbatches());
  std::vector<Ticks> starts;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    Ticks start = ready.empty() ? 0 : ready[rank.at()];
    const auto queue = schedule.queue(rank);
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const Ticks delay = delay_into(costs, queue[i].kind(), schedule.slot_of(queue[i]));
      start = std::max(start, tensors[index.input_of(queue[i])] + delay);
      if (!queue[i].joined()) break;
    }
    starts.push_back(start);
  }
  return starts;
}

}  // namespace

Simulator::Simulator() : state_(std::make_unique<State>()) {}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;
Simulator& Simulator::operator=(Simulator&&) noexcept = default;

Simulator::Outcome Simulator::evaluate(const Schedule& schedule, const Costs& costs,
                                       const MemoryModel& memory, const std::vector<Ticks>& ready) {
  require_times_fit(schedule, costs);
  state_->prepare(schedule, costs, memory, ready);
  state_->run<false>(schedule, costs, {});
  if (state_->entries_done != schedule.num_entries()) return state_->explain(schedule);
  return state_->totals(schedule, first_starts(schedule, costs, state_->tensors, ready));
}

Simulator::Outcome Simulator::evaluate(const Schedule& schedule, const Costs& costs,
                                       const MemoryModel& memory, std::span<Ticks> start,
                                       std::span<Ticks> end, const std::vector<Ticks>& ready) {
  require_times_fit(schedule, costs);
  state_->prepare(schedule, costs, memory, ready);
  state_->run<true>(schedule, costs, {start.data(), end.data()});
  if (state_->entries_done != schedule.num_entries()) return state_->explain(schedule);
  return state_->totals(schedule, first_starts(schedule, costs, state_->tensors, ready));
}

double Totals::bubble_ratio() const {
  const Ticks work = std::accumulate(busy.begin(), busy.end(), Ticks{0});
  const double whole = static_cast<double>(makespan) * static_cast<double>(busy.size());
  return whole > 0 ? 1.0 - static_cast<double>(work) / whole : 0.0;
}

double Totals::bubble_overhead() const {
  const double work = static_cast<double>(std::accumulate(busy.begin(), busy.end(), Ticks{0}));
  const double whole = static_cast<double>(makespan) * static_cast<double>(busy.size());
  return work > 0 ? (whole - work) / work : 0.0;
}

}  // namespace pipeloom
