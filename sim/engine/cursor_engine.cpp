// The cursor loop: ranks run their queues until they wait for a tensor that is not there.

#include "sim/engine/cursor_engine.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include <pipeloom/schedules.hpp>
#include "sim/dependency.hpp"
#include "sim/kinds.hpp"
#include "sim/tensor_index.hpp"

namespace pipeloom {

namespace {

/// Every rank walks through its own stretch of the queue, of `start` and of `end`. The hardware fetches lines ahead for some 30 such
/// streams; 512 ranks have 1,536. Asked for once a visit (two or three ops in steady state), the lines are there in time: 1F1B takes 5.0 instead
/// of 8.2 ns an op on 8 ranks, 7.5 instead of 12.7 on 64, 9.9 instead of 16 on 512. Asked for at every op, they cost 0.4 ns more on 8 ranks.
inline void fetch_ahead(const Op* ops, CursorEngine::Times times, std::size_t next) {
  __builtin_prefetch(ops + next + 32);
  if (times.start == nullptr) return;
  constexpr int kForWriting = 1;
  __builtin_prefetch(times.start + next + 24, kForWriting);
  __builtin_prefetch(times.end + next + 24, kForWriting);
}

}  // namespace

std::size_t CursorEngine::run(const Schedule& schedule, const Costs& costs, const MemoryModel& memory,
                              const std::vector<Ticks>& ready, Times times) {
  prepare_cells(schedule);
  prepare_cursors(schedule, ready);
  prepare_actions(schedule, costs, memory);
  prepare_extras(schedule, memory);
  find_bytes_per_live(schedule, memory);
  cells_are_clean_ = false;
  run_all(schedule, costs, times);
  std::size_t done = 0;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
    done += cursors_[rank.at()].next - schedule.queue_begin(rank);
  // Every tensor of a complete run was taken, which leaves the cells empty for the next run.
  cells_are_clean_ = done == schedule.num_ops();
  return done;
}

void CursorEngine::run_all(const Schedule& schedule, const Costs& costs, Times times) {
  do {
    end_if_stopped();
    run_runnable(schedule, costs, times);
  } while (find_space());
  if (bytes_follow_live_)
    for (Cursor& cursor : cursors_) cursor.peak_held = cursor.peak_live * bytes_per_live_;
  for (std::size_t r = 0; r < copied_peaks_.size(); ++r) cursors_[r].peak_held = copied_peaks_[r].peak();
}

void CursorEngine::end_if_stopped() const {
  if (stop_ != nullptr && *stop_ && (*stop_)()) throw Stopped();
}

template <bool kExtended>
void CursorEngine::run_visits(const Schedule& schedule, const Costs& costs, Times times) {
  constexpr std::size_t kBetween = 4096;
  for (std::size_t visits = 1; num_runnable_ != 0; ++visits) {
    if (visits % kBetween == 0) end_if_stopped();
    run_general<kExtended>(schedule, costs, *runnable_[--num_runnable_], times);
  }
}

void CursorEngine::run_runnable(const Schedule& schedule, const Costs& costs, Times times) {
  const bool per_op = !costs.per_op.empty();
  const bool by_entry = times.entry_times != nullptr || costs.rank_time != 0 ||
                        (schedule.has_groups() && (per_op || costs.entry != 0));
  if (schedule.is_extended() || !costs.microbatch_scale.empty() || by_entry) {
    run_visits<true>(schedule, costs, times);
    return;
  }
  if (schedule.has_groups()) {
    run_visits<false>(schedule, costs, times);
    return;
  }
  const bool replicas = schedule.placement().replicas() > 1;
  const auto pick_cost = [&](auto with_times, auto with_bytes, auto with_replicas) {
    return per_op ? run_plain<with_times(), with_bytes(), with_replicas(), true>(schedule, times,
                                                                                 costs.per_op.data())
                  : run_plain<with_times(), with_bytes(), with_replicas(), false>(schedule, times, nullptr);
  };
  const auto pick = [&](auto with_times, auto with_bytes) {
    return replicas ? pick_cost(with_times, with_bytes, std::true_type())
                    : pick_cost(with_times, with_bytes, std::false_type());
  };
  constexpr std::true_type yes;
  constexpr std::false_type no;
  if (times.start != nullptr)
    bytes_follow_live_ ? pick(yes, no) : pick(yes, yes);
  else
    bytes_follow_live_ ? pick(no, no) : pick(no, yes);
}

/// Visits ranks until none can go on; each runs until an op's tensor is missing. Whatever changes lives in registers meanwhile,
/// and the only branches are those that end a visit or wake a rank.
/// One long function on purpose: cut into pieces, its state would travel through memory at every op, and so it would in a caller that holds
/// several of these loops.
template <bool kTimes, bool kBytes, bool kReplicas, bool kPerOp>
void CursorEngine::run_plain(const Schedule& schedule, Times times, const Ticks* per_op) {
  const Op* const ops = schedule.ops().data();
  const Action* const actions = actions_.data();
  Cursor** const runnable = runnable_.data();
  std::size_t num_runnable = num_runnable_;
  const std::size_t mask = ring_mask_;
  while (num_runnable != 0) {
    Cursor& cursor = *runnable[--num_runnable];
    if (cursor.first_start == kNotStarted) note_first_start(schedule, cursor);
    const std::size_t end = cursor.end;
    std::size_t next = cursor.next;
    fetch_ahead(ops, times, next);
    // Copies of the fields that the visit changes, so that they may live in registers: no other code looks at them before the visit ends.
    Ticks clock = cursor.clock;
    Ticks busy = cursor.busy;
    std::int32_t live = cursor.live;
    std::int32_t peak_live = cursor.peak_live;
    for (; next < end; ++next) {
      const Op op = ops[next];
      const std::size_t slot = kReplicas ? schedule.slot_of(op).at() : op.stage().at();
      const Action& action = actions[slot * kPlainKinds + index_of(op.kind())];
      const std::int32_t microbatch = op.microbatch().value();
      const std::size_t place = op.microbatch().at() & mask;
      // The cell names the microbatch that it holds: a later one shares the cell and may be there instead. Both conditions are
      // joined without a short circuit, so that one branch, which is nearly always taken the same way, decides.
      Cell& input = action.input_ring[place];
      if (static_cast<unsigned>(input.microbatch != microbatch) & static_cast<unsigned>(action.needs_input)) {
        cursor.waits_for = &input;
        break;
      }
      // The ring is full: the consumer has not taken the microbatch that is one ring length older.
      Cell& output = action.output_ring[place];
      if (static_cast<unsigned>(output.microbatch != kEmpty) & static_cast<unsigned>(action.has_output)) {
        wait_for_space(output, cursor);
        break;
      }
      // The op's only consumer has it, so the cell is free. An op without input empties a cell of its own row, and reads a time of 0 there.
      input.microbatch = kEmpty;
      const Ticks start = std::max(clock, input.produced + action.delay);
      const Ticks duration = kPerOp ? per_op[next] : action.duration;
      clock = start + duration;
      busy += duration;
      // An op takes memory when it starts and gives memory back when it ends: the peak lies in between.
      live += action.live_taken;
      peak_live = std::max(peak_live, live);
      live -= action.live_given;
      if constexpr (kBytes) {
        cursor.held += action.bytes_taken;
        cursor.peak_held = std::max(cursor.peak_held, cursor.held);
        cursor.held -= action.bytes_given;
      }
      if constexpr (kTimes) {
        times.start[next] = start;
        times.end[next] = clock;
      }
      // Publish the result. An op without output writes to a row that no op reads. The consumer is asked for its cell and not looked at
      // otherwise: it is woken only if it waits for this very tensor, and visited later.
      output.produced = clock;
      output.microbatch = microbatch;
      if (action.consumer->waits_for == &output) {
        action.consumer->waits_for = nullptr;
        runnable[num_runnable++] = action.consumer;
      }
    }
    cursor.next = next;
    cursor.clock = clock;
    cursor.busy = busy;
    cursor.live = live;
    cursor.peak_live = peak_live;
  }
  num_runnable_ = 0;
}

/// Before a rank's first op: when it will start, if it can.
void CursorEngine::note_first_start(const Schedule& schedule, Cursor& cursor) const {
  if (cursor.next == cursor.end) return;
  const Op op = schedule.ops()[cursor.next];
  if (!is_there(schedule, op)) return;
  const Action& action = action_of(schedule, op);
  const Cell& input = action.input_ring[place_of(op.microbatch().value())];
  cursor.first_start = std::max(cursor.clock, input.produced + action.delay);
}

/// Hands an op's result to its consumer, and wakes it if it waits for this cell. (It may wait for another microbatch of the
/// same cell; it then looks, and goes back to sleep.) The cell was free when the entry began, so only ops of one group can meet in it.
void CursorEngine::publish(const Action& action, std::int32_t unit, Ticks end) {
  if (action.shared_output != kNotShared)
    return publish_part(shared_place(action.shared_output, unit), unit, end);
  while (action.has_output && action.output_ring[place_of(unit)].microbatch != kEmpty) double_rings();
  Cell& output = action.output_ring[place_of(unit)];
  output = {end, unit};
  Cursor& consumer = *action.consumer;
  if (consumer.waits_for == &output) {
    consumer.waits_for = nullptr;
    runnable_[num_runnable_++] = &consumer;
  }
}

/// A part of a shared tensor, which is there when the last of them ends; then all ranks that wait for it go on.
void CursorEngine::publish_part(std::size_t cell, std::int32_t unit, Ticks end) {
  Cell& sum = shared_cells_[cell];
  sum.produced = std::max(sum.produced, end);
  if (--shared_left_[cell] != 0) return;
  sum.microbatch = unit;
  for (Cursor& cursor : cursors_) {
    if (cursor.waits_for != &sum) continue;
    cursor.waits_for = nullptr;
    runnable_[num_runnable_++] = &cursor;
  }
}

template <bool kExtended>
void CursorEngine::account_entry(const Schedule& schedule, std::size_t first, std::size_t last, Span entry,
                                 Cursor& cursor) {
  QueueEffect sum;
  for (std::size_t i = first; i < last; ++i) {
    const Action& action = action_of(schedule, schedule.ops()[i]);
    const QueueEffect effect = kExtended && effects_ ? effects_->of(schedule.ops()[i])
                                                     : QueueEffect{action.bytes_taken, action.bytes_given,
                                                                   action.live_taken, action.live_given};
    sum.taken += effect.taken;
    sum.given += effect.given;
    sum.live_taken += effect.live_taken;
    sum.live_given += effect.live_given;
  }
  cursor.live += sum.live_taken;
  cursor.peak_live = std::max(cursor.peak_live, cursor.live);
  cursor.live -= sum.live_given;
  if (kExtended && !copied_peaks_.empty())
    return copied_peaks_[static_cast<std::size_t>(&cursor - cursors_.data())].add_entry(entry, sum.taken,
                                                                                        sum.given);
  cursor.held += sum.taken;
  cursor.peak_held = std::max(cursor.peak_held, cursor.held);
  cursor.held -= sum.given;
}

/// O or L at the rank's cursor: it is issued now and runs when the copy stream is free. The rank does not wait.
void CursorEngine::run_copy(const Schedule& schedule, const Costs& costs, Cursor& cursor, Times times) {
  const Op op = schedule.ops()[cursor.next];
  const Ticks start = std::max(cursor.clock, cursor.copy_clock);
  const Ticks end = start + costs.op_duration(schedule, cursor.next);
  cursor.copy_clock = end;
  if (kAwaitedCopies.has(op.kind())) reload_end_[pass_of(schedule, op)] = end;
  const QueueEffect effect = effects_->of(op);
  copied_peaks_[static_cast<std::size_t>(&cursor - cursors_.data())].add_copy({start, end}, effect.taken,
                                                                              effect.given);
  if (times.start != nullptr) {
    times.start[cursor.next] = start;
    times.end[cursor.next] = end;
  }
  ++cursor.next;
}

/// One visit with groups and, where kExtended, copies, recomputation, slices, and durations by microbatch or op.
template <bool kExtended>
void CursorEngine::run_general(const Schedule& schedule, const Costs& costs, Cursor& cursor, Times times) {
  const auto ops = schedule.ops();
  fetch_ahead(ops.data(), times, cursor.next);
  const bool adds_up = costs.overlap.rule == OverlapRule::Sum;
  while (cursor.next < cursor.end) {
    if (kExtended && is_copy(ops[cursor.next].kind())) {
      run_copy(schedule, costs, cursor, times);
      continue;
    }
    // Every op of the entry must have its input and a free cell before any of them runs: an entry starts as one.
    std::size_t last = cursor.next;
    Ticks start = cursor.clock;
    Ticks sum = 0;
    do {
      const Action& action = action_of(schedule, ops[last]);
      const std::int32_t unit = unit_of(schedule, ops[last]);
      const Cell& input = kExtended ? input_of(action, unit) : action.input_ring[place_of(unit)];
      if (input.microbatch != unit && action.needs_input) {
        cursor.waits_for = &input;
        return;
      }
      const Cell& output = action.output_ring[place_of(unit)];
      if (output.microbatch != kEmpty && action.has_output) return wait_for_space(output, cursor);
      const Ticks delay =
          kExtended ? arrival_delay(costs, ops[last], schedule.slot_of(ops[last])) : action.delay;
      start = std::max(start, input.produced + delay);
      sum += action.duration;
      if (kExtended && !reload_end_.empty())
        start = std::max(start, reload_end_[pass_of(schedule, ops[last])]);
    } while (ops[last++].joined());
    // Only now the inputs are taken: an entry that stopped above looks at all of them again.
    for (std::size_t i = cursor.next; i < last; ++i)
      action_of(schedule, ops[i]).input_ring[place_of(unit_of(schedule, ops[i]))].microbatch = kEmpty;
    const LaneTimes lane = kExtended ? lane_times(costs, schedule, cursor.next, last) : LaneTimes();
    start += lane.before;
    if (cursor.first_start == kNotStarted) cursor.first_start = start;
    const bool is_sum = !kExtended && (adds_up || last - cursor.next == 1);
    cursor.clock =
        is_sum ? start + sum : end_of_entry(schedule, costs, cursor, last, start, times.entry_times);
    account_entry<kExtended>(schedule, cursor.next, last, {start, cursor.clock}, cursor);
    finish_entry(schedule, costs, cursor.next, last, {start, cursor.clock}, lane.after, times);
    cursor.busy += cursor.clock - start;
    cursor.clock += lane.after;
    cursor.after = lane.after;
    cursor.next = last;
  }
}

/// When the entry from the cursor to `last` that starts at `start` ends. Where its parts take turns, turn_ends_ has theirs.
Ticks CursorEngine::end_of_entry(const Schedule& schedule, const Costs& costs, const Cursor& cursor,
                                 std::size_t last, Ticks start, const EntryTimes* entry_times) {
  const std::size_t first = cursor.next;
  const auto end_of = [&](std::size_t i, Ticks planned) {
    if (entry_times == nullptr) return start + planned;
    const auto rank = static_cast<std::int32_t>(&cursor - cursors_.data());
    return start + (*entry_times)(Rank(rank), i, start, planned);
  };
  if (costs.overlap.rule != OverlapRule::Sequential || last - first == 1)
    return end_of(first, costs.entry_duration(schedule, first, last));
  turn_ends_.clear();
  for (std::size_t i = first; i < last; ++i) {
    start = end_of(i, costs.turn_duration(schedule, first, i));
    turn_ends_.push_back(start);
  }
  return start;
}

/// Gives the entry's ops their times and hands out their results, `after` later where the lane takes so long for its messages.
void CursorEngine::finish_entry(const Schedule& schedule, const Costs& costs, std::size_t first,
                                std::size_t last, Span entry, Ticks after, Times times) {
  const bool one_by_one = costs.overlap.rule == OverlapRule::Sequential && last - first > 1;
  Ticks start = entry.start;
  for (std::size_t i = first; i < last; ++i) {
    const Op op = schedule.ops()[i];
    const Ticks end = one_by_one ? turn_ends_[i - first] : entry.end;
    if (times.start != nullptr) {
      times.start[i] = start;
      times.end[i] = end;
    }
    publish(action_of(schedule, op), unit_of(schedule, op), (after == 0 ? end : entry.end) + after);
    if (one_by_one) start = end;
  }
}

std::vector<Wait> CursorEngine::waits(const Schedule& schedule) const {
  const TensorIndex tensors(schedule);
  std::vector<Wait> waits;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    const Cursor& cursor = cursors_[rank.at()];
    if (cursor.next == cursor.end) continue;
    // The op of the entry whose tensor is not in its cell.
    std::size_t op = cursor.next;
    while (is_there(schedule, schedule.ops()[op])) ++op;
    waits.push_back({rank, op, tensors.input_of(schedule.ops()[op])});
  }
  return waits;
}

bool CursorEngine::is_there(const Schedule& schedule, Op op) const {
  const Action& action = action_of(schedule, op);
  const std::int32_t unit = unit_of(schedule, op);
  return !action.needs_input || input_of(action, unit).microbatch == unit;
}

}  // namespace pipeloom
