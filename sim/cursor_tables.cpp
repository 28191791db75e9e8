// What the cursor loop reads: actions, cursors and cells of a run, filled in before it begins.

#include <algorithm>
#include <bit>

#include "sim/cursor_engine.hpp"
#include "sim/dependency.hpp"
#include "sim/tensor_index.hpp"

namespace pipeloom {
namespace {

/// The rank that takes what an op of this kind on this slot writes.
Rank consumer_of(const Placement& placement, OpKind kind, Slot slot) {
  const int stage = placement.stage_of(slot).value();
  if (kind == OpKind::Forward && stage + 1 < placement.stages()) return placement.rank_of(slot + 1);
  if (carries_gradient(kind) && stage > 0) return placement.rank_of(slot - 1);
  return placement.rank_of(slot);
}

}  // namespace

void CursorEngine::prepare_actions(const Schedule& schedule, const Costs& costs, const MemoryModel& memory) {
  const Placement& placement = schedule.placement();
  const auto stages = static_cast<std::size_t>(schedule.stages());
  // Rows 0 .. S-1 hold activations, S .. 2S-1 gradients; the last two belong to ops without input or output.
  const std::size_t no_input = 2 * stages;
  const std::size_t no_output = no_input + 1;
  const bool forward_only = schedule.is_forward_only();
  extras_begin_ = kPlainKinds * static_cast<std::size_t>(placement.slots());
  actions_.assign(kOpKinds * static_cast<std::size_t>(placement.slots()), {});
  for (const OpKind kind : kAllOpKinds)
    for (Slot slot{0}; slot < Slot(placement.slots()); ++slot) {
      Action& action = actions_[position_of(kind, slot.at())];
      const std::size_t s = placement.stage_of(slot).at();
      const bool last = s + 1 == stages;
      const bool is_forward = kind == OpKind::Forward;
      action.needs_input = is_forward ? s > 0 : carries_gradient(kind);
      action.has_output = is_forward ? (!last || !forward_only) : (carries_gradient(kind) && s > 0);
      const std::size_t input = is_forward ? s - 1 : (last ? s : stages + s + 1);
      const std::size_t output = is_forward ? s : stages + s;
      action.input_ring = (ring_mask_ + 1) * (action.needs_input ? input : no_input);
      action.output_ring = (ring_mask_ + 1) * (action.has_output ? output : no_output);
      action.duration = costs.duration[index_of(kind)][slot.at()];
      action.delay = arrival_delay(costs, kind, slot);
      action.consumer = consumer_of(placement, kind, slot).value();
      const QueueEffect effect = queue_effect(memory, kind, slot, forward_only);
      action.bytes_taken = effect.taken;
      action.bytes_given = effect.given;
      action.live_taken = static_cast<std::int8_t>(effect.live_taken);
      action.live_given = static_cast<std::int8_t>(effect.live_given);
    }
}

void CursorEngine::prepare_cursors(const Schedule& schedule, const std::vector<Ticks>& ready) {
  cursors_.assign(static_cast<std::size_t>(schedule.ranks()), {});
  runnable_.resize(cursors_.size());
  num_runnable_ = 0;
  // The last rank pushed runs first, so start with rank 0 on top.
  for (Rank rank(schedule.ranks() - 1); rank >= Rank(0); rank = rank - 1) {
    Cursor& cursor = cursors_[rank.at()];
    cursor.next = schedule.queue_begin(rank);
    cursor.end = schedule.queue_end(rank);
    cursor.clock = ready.empty() ? 0 : ready[rank.at()];
    runnable_[num_runnable_++] = rank.value();
  }
}

/// Clean cells hold no microbatch, but old times; only the row of ops without input is free of those, and it moves with the
/// number of rows.
void CursorEngine::clear_cells(std::size_t rows, std::size_t ring) {
  const bool same_rows = cells_.size() == rows * ring && num_rows_ == rows;
  if (cells_are_clean_ && same_rows) return;
  num_rows_ = rows;
  cells_.assign(rows * ring, {});
}

/// Where bytes are a multiple of live activations, the loop counts only those.
void CursorEngine::find_bytes_per_live(const Schedule& schedule, const MemoryModel& memory) {
  bytes_per_live_ = memory.activation.front();
  const auto same = [this](Bytes bytes) { return bytes == bytes_per_live_; };
  const auto none = [](Bytes bytes) { return bytes == 0; };
  bytes_follow_live_ = std::all_of(memory.activation.begin(), memory.activation.end(), same) &&
                       std::all_of(memory.released_at_input.begin(), memory.released_at_input.end(), none) &&
                       !schedule.is_extended();
}

void CursorEngine::prepare_extras(const Schedule& schedule, const MemoryModel& memory) {
  effects_.reset();
  reload_end_.clear();
  copied_peaks_.clear();
  if (schedule.is_extended()) effects_.emplace(schedule, memory);
  if (!schedule.has_copies()) return;
  reload_end_.assign(static_cast<std::size_t>(schedule.stages()) * static_cast<std::size_t>(schedule.units()),
                     0);
  copied_peaks_.resize(static_cast<std::size_t>(schedule.ranks()));
}

}  // namespace pipeloom
