#include "sim/memory.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace pipeloom {

std::string bytes_number(const MemoryModel& model, Bytes units) {
  if (units % model.parts == 0) return std::to_string(units / model.parts);
  std::array<char, 40> buffer;
  return {buffer.data(),
          std::to_chars(buffer.data(), buffer.data() + buffer.size(), model.in_bytes(units)).ptr};
}

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

}  // namespace pipeloom
