// The tables that the cursor loop reads: actions, cursors and cells of a run, filled in before it begins; and longer rings where these are too short.

#include <algorithm>
#include <bit>
#include <utility>

#include "sim/base/table_size.hpp"
#include "sim/dependency.hpp"
#include "sim/engine/cursor_engine.hpp"
#include "sim/tensor_index.hpp"

namespace pipeloom {

void CursorEngine::prepare_actions(const Schedule& schedule, const Costs& costs, const MemoryModel& memory) {
  const Placement& placement = schedule.placement();
  const TensorIndex tensors(schedule);
  // Rows 0 .. S-1 hold activations, S .. 2S-1 gradients: the rows of TensorIndex without that of model inputs. The last two belong to ops
  // without input or output.
  const std::size_t no_input = 2 * static_cast<std::size_t>(schedule.stages());
  const std::size_t no_output = no_input + 1;
  const auto row_of_tensor = [&](std::size_t base) { return base / tensors.first_produced() - 1; };
  const bool forward_only = schedule.is_forward_only();
  extras_begin_ = kPlainKinds * static_cast<std::size_t>(placement.slots());
  actions_.assign(kOpKinds * static_cast<std::size_t>(placement.slots()), {});
  for (const OpKind kind : kAllOpKinds) {
    if (!schedule.contains(kind)) continue;
    for (Slot slot{0}; slot < Slot(placement.slots()); ++slot) {
      Action& action = actions_[position_of(kind, slot.at())];
      const Stage stage = placement.stage_of(slot);
      const std::optional<int> shared_input = tensors.shared_row(tensors.input_base(kind, stage));
      const std::optional<int> shared_output = tensors.shared_row(tensors.output_base(kind, stage));
      action.shared_input = static_cast<std::int8_t>(shared_input.value_or(kNotShared));
      action.shared_output = static_cast<std::int8_t>(shared_output.value_or(kNotShared));
      action.needs_input = tensors.needs_input(kind, stage);
      action.has_output = !shared_output && tensors.is_needed(kind, stage, forward_only);
      const std::size_t input =
          action.needs_input && !shared_input ? row_of_tensor(tensors.input_base(kind, stage)) : no_input;
      const std::size_t output =
          action.has_output ? row_of_tensor(tensors.output_base(kind, stage)) : no_output;
      action.input_ring = cells_.data() + (ring_mask_ + 1) * input;
      action.output_ring = cells_.data() + (ring_mask_ + 1) * output;
      action.duration = costs.duration[index_of(kind)][slot.at()] + costs.entry;
      action.delay = arrival_delay(costs, kind, slot);
      action.consumer = &cursors_[consumer_of(placement, kind, slot).at()];
      const QueueEffect effect = queue_effect(memory, kind, slot, forward_only);
      action.bytes_taken = effect.taken;
      action.bytes_given = effect.given;
      action.live_taken = static_cast<std::int8_t>(effect.live_taken);
      action.live_given = static_cast<std::int8_t>(effect.live_given);
    }
  }
}

void CursorEngine::prepare_cursors(const Schedule& schedule, const std::vector<Ticks>& ready) {
  cursors_.assign(static_cast<std::size_t>(schedule.ranks()), {});
  runnable_.resize(cursors_.size());
  num_runnable_ = 0;
  space_waits_.resize(cursors_.size());
  num_space_waits_ = 0;
  // The last rank pushed runs first, so start with rank 0 on top.
  for (Rank rank(schedule.ranks() - 1); rank >= Rank(0); rank = rank - 1) {
    Cursor& cursor = cursors_[rank.at()];
    cursor.next = schedule.queue_begin(rank);
    cursor.end = schedule.queue_end(rank);
    cursor.clock = ready.empty() ? 0 : ready[rank.at()];
    runnable_[num_runnable_++] = &cursor;
  }
}

/// Clean cells hold no microbatch, but old times; only the row of ops without input is free of those, and it moves with the
/// number of rows. Rings stay as long as the last run left them, unless that run had another number of rows and these would outgrow the cache.
void CursorEngine::prepare_cells(const Schedule& schedule) {
  const std::size_t rows = 2 * static_cast<std::size_t>(schedule.stages()) + 2;
  const bool same_rows = num_rows_ == rows;
  std::size_t ring = std::max(ring_mask_ + 1, rings_.first);
  while (!same_rows && ring > rings_.first && rows * ring > rings_.cheap_cells) ring /= 2;
  ring = std::min(ring, std::bit_ceil(static_cast<std::size_t>(schedule.units())));
  ring_mask_ = ring - 1;
  if (cells_are_clean_ && same_rows && cells_.size() == rows * ring) return;
  num_rows_ = rows;
  cells_.assign(rows * ring, {});
}

/// When no rank can go on without space: makes some. False if none waits for it.
bool CursorEngine::find_space() {
  if (num_space_waits_ == 0) return false;
  if (2 * cells_.size() > rings_.cheap_cells) {
    const std::size_t waited = num_space_waits_;
    wake_where_space();
    // Where one in eight goes on, looking costs less than running; else longer rings are cheaper.
    if (num_runnable_ * 8 >= waited) return true;
  }
  double_rings();
  return true;
}

void CursorEngine::wake_where_space() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < num_space_waits_; ++i) {
    const SpaceWait wait = space_waits_[i];
    if (wait.cell->microbatch == kEmpty)
      runnable_[num_runnable_++] = wait.cursor;
    else
      space_waits_[kept++] = wait;
  }
  num_space_waits_ = kept;
}

/// Moves the tensors under way into rings of twice the length, and wakes all ranks that wait, for cells have other addresses now.
void CursorEngine::double_rings() {
  const std::size_t old_ring = ring_mask_ + 1;
  ring_mask_ = 2 * old_ring - 1;
  std::vector<Cell> longer(2 * cells_.size());
  for (std::size_t i = 0; i < cells_.size(); ++i)
    if (cells_[i].microbatch != kEmpty)
      longer[(i / old_ring) * 2 * old_ring + place_of(cells_[i].microbatch)] = cells_[i];
  for (Action& action : actions_) {
    if (action.input_ring == nullptr) continue;  // of a kind that the schedule has none of
    action.input_ring = longer.data() + 2 * (action.input_ring - cells_.data());
    action.output_ring = longer.data() + 2 * (action.output_ring - cells_.data());
  }
  cells_ = std::move(longer);
  for (Cursor& cursor : cursors_)
    if (cursor.waits_for != nullptr) {
      cursor.waits_for = nullptr;
      runnable_[num_runnable_++] = &cursor;
    }
  while (num_space_waits_ != 0) runnable_[num_runnable_++] = space_waits_[--num_space_waits_].cursor;
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

void CursorEngine::prepare_shared(const Schedule& schedule) {
  const TensorIndex tensors(schedule);
  shared_units_ = static_cast<std::size_t>(schedule.units());
  shared_cells_.assign(table_size(TensorIndex::kShared, shared_units_), {});
  shared_left_.clear();
  for (int shared = 0; shared < TensorIndex::kShared; ++shared)
    shared_left_.insert(shared_left_.end(), shared_units_, tensors.writers(shared));
}

void CursorEngine::prepare_extras(const Schedule& schedule, const MemoryModel& memory) {
  effects_.reset();
  reload_end_.clear();
  copied_peaks_.clear();
  shared_cells_.clear();
  if (schedule.is_extended()) effects_.emplace(schedule, memory);
  if (schedule.shares_output()) prepare_shared(schedule);
  if (!schedule.has_copies()) return;
  reload_end_.assign(table_size(schedule.stages(), schedule.units()), 0);
  copied_peaks_.resize(static_cast<std::size_t>(schedule.ranks()));
}

}  // namespace pipeloom
