#include "sim/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "sim/base/number_text.hpp"
#include "sim/base/table_size.hpp"
#include "sim/kinds.hpp"

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

Terms uniform_terms(const Placement& placement, const UniformCosts& costs) {
  return {uniform_costs(placement, costs), default_memory(placement), {}};
}

Bytes PassBytes::of(Share share) const {
  switch (share) {
    case Share::None:
      return 0;
    case Share::Kept:
      return kept;
    case Share::Whole:
      return whole;
    case Share::Early:
      return early;
    case Share::Late:
      return whole - early;
    case Share::Dropped:
      return whole - stash;
  }
  return 0;
}

namespace {

/// The columns of a kind's row about memory, without the rest of it: read at every op.
struct KindEffect {
  Share taken = Share::None;
  Share given = Share::None;
  std::int8_t live_taken = 0;
  std::int8_t live_given = 0;
};
constexpr std::array<KindEffect, kOpKinds> kEffects = [] {
  std::array<KindEffect, kOpKinds> effects{};
  for (const KindRow& row : kKinds)
    effects[index_of(row.kind)] = {row.taken, row.given, row.live_taken, row.live_given};
  return effects;
}();

/// Where no backward follows, an op gives back what it took.
QueueEffect effect_on(const PassBytes& pass, OpKind kind, bool forward_only) {
  const KindEffect& effect = kEffects[index_of(kind)];
  const Bytes taken = pass.of(effect.taken);
  return {taken, forward_only ? taken : pass.of(effect.given), effect.live_taken,
          forward_only ? effect.live_taken : effect.live_given};
}

}  // namespace

QueueEffect queue_effect(const MemoryModel& model, OpKind kind, Slot slot, bool forward_only) {
  const Bytes whole = model.activation[slot.at()];
  return effect_on({whole, whole, model.released_at_input[slot.at()], model.stash[slot.at()]}, kind,
                   forward_only);
}

LogitsEffect logits_effect(const Schedule& schedule, const MemoryModel& model, Op op, Slot slot) {
  const OpKind kind = op.kind();
  if (schedule.shares_output()) {
    const int stages = schedule.stages();
    const Placement& placement = schedule.placement();
    const Slot last = placement.slot_of(Stage(stages - 1), placement.replica_of(slot));
    const Bytes part = (slice_of(model, model.logits[last.at()], op) + stages - 1) / stages;
    return {kind == OpKind::Output ? part : 0, kind == OpKind::OutputWeight ? part : 0};
  }
  const Bytes logits = slice_of(model, model.logits[slot.at()], op);
  const bool is_forward = kind == OpKind::Forward;
  const bool ends = carries_gradient(kind) || (is_forward && schedule.is_forward_only());
  return {is_forward ? logits : 0, ends ? logits : 0};
}

ActivationEffects::ActivationEffects(const Schedule& schedule, const MemoryModel& model)
    : schedule_(&schedule), model_(&model) {
  if (!schedule.kinds().any_of(kTakesDropped)) return;
  const auto units = static_cast<std::size_t>(schedule.units());
  recomputed_.resize(table_size(schedule.stages(), units));
  for (const Op op : schedule.ops())
    if (kTakesDropped.has(op.kind())) recomputed_[op.stage().at() * units + schedule.unit_of(op)] = true;
}

bool ActivationEffects::is_recomputed(Op op) const {
  return !recomputed_.empty() &&
         recomputed_[op.stage().at() * static_cast<std::size_t>(schedule_->units()) + schedule_->unit_of(op)];
}

QueueEffect ActivationEffects::of(Op op) const {
  const Slot slot = schedule_->slot_of(op);
  const Bytes whole = share(model_->activation[slot.at()], op);
  const Bytes stash = share(model_->stash[slot.at()], op);
  constexpr KindSet kReadsEarly =
      kinds_where([](const KindRow& row) { return row.given == Share::Early || row.given == Share::Late; });
  const Bytes early = kReadsEarly.has(op.kind()) ? share(model_->released_at_input[slot.at()], op) : 0;
  return effect_on({whole, is_recomputed(op) ? stash : whole, early, stash}, op.kind(),
                   schedule_->is_forward_only());
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

namespace {

Bytes largest(const std::vector<Bytes>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

/// "32", "31.4".
std::string activations(const MemoryModel& model, Bytes units) {
  const double count =
      static_cast<double>(units) / (static_cast<double>(largest(model.activation)) * model.passes);
  const double tenths = std::round(10 * count);
  return fmt::format("{:.{}f}", tenths / 10, std::fmod(tenths, 10) == 0 ? 0 : 1);
}

/// Parts of a byte matter where sizes are relative; beside real sizes the remainder is too small to be read.
Bytes whole_bytes(const MemoryModel& model, Bytes units) {
  return model.parts == 1 ? units : static_cast<Bytes>(std::llround(model.in_bytes(units)));
}

}  // namespace

bool counts_activations(const MemoryModel& model) {
  Bytes most = 0;
  for (const auto* values : {&model.activation, &model.static_bytes, &model.receive, &model.logits})
    most = std::max(most, largest(*values));
  return largest(model.activation) > 0 && model.in_bytes(most) < kLeastRealBytes;
}

std::string memory_text(const MemoryModel& model, Bytes units) {
  if (!counts_activations(model)) return bytes_text(whole_bytes(model, units));
  const std::string count = activations(model, units);
  return fmt::format("{} activation{} of a stage", count, count == "1" ? "" : "s");
}

std::string memory_text_of_bytes(const MemoryModel& model, double bytes) {
  return memory_text(model, static_cast<Bytes>(std::llround(bytes * model.parts)));
}

std::string memory_cell(const MemoryModel& model, Bytes units) {
  return counts_activations(model) ? activations(model, units) : short_bytes_text(whole_bytes(model, units));
}

}  // namespace pipeloom
