#include "sim/analysis/queue_account.hpp"

#include <algorithm>

#include <pipeloom/metrics.hpp>
#include "sim/kinds.hpp"

namespace pipeloom {
namespace {

constexpr std::size_t kPlainKinds = 4;  // F, B, I, W

}  // namespace

QueueAccounts::QueueAccounts(const Schedule& schedule, const MemoryModel& model)
    : schedule_(schedule), model_(model), effects_(schedule, model) {
  if (schedule.is_extended()) return;
  const Placement& placement = schedule.placement();
  for (Slot slot{0}; slot < Slot(placement.slots()); ++slot)
    for (std::size_t k = 0; k < kPlainKinds; ++k) {
      const OpKind kind = kAllOpKinds[k];
      const LogitsEffect logits =
          logits_effect(schedule, model, Op(kind, placement.stage_of(slot), Microbatch(0)), slot);
      table_.push_back(
          {queue_effect(model, kind, slot, schedule.is_forward_only()), logits.taken, logits.given});
    }
}

OpEffect QueueAccounts::extended_effect(Op op) const {
  const LogitsEffect logits = logits_effect(schedule_, model_, op, schedule_.slot_of(op));
  return {effects_.of(op), logits.taken, logits.given};
}

/// Entries one after another: each takes when it starts and gives when it ends.
/// effect_of(op) is the op's OpEffect.
template <class EffectOf>
class QueueAccounts::Account {
 public:
  Account(const QueueAccounts& accounts, Rank rank, EffectOf effect_of)
      : effect_of_(effect_of), ops_(accounts.schedule_.ops()) {
    bytes_ = peaks_.peak_bytes = static_bytes_of(accounts.schedule_, accounts.model_, rank);
    peaks_.peak_op = accounts.schedule_.queue_begin(rank);
  }

  void add(std::size_t first, std::size_t last) {
    if (last - first == 1) {
      const OpEffect& effect = effect_of_(ops_[first]);
      take(first, effect);
      note_peaks();
      return give(first, effect);
    }
    for (std::size_t i = first; i < last; ++i) take(i, effect_of_(ops_[i]));
    note_peaks();
    // The bytes that the parts free come before those that they keep.
    bool keeps = false;
    for (std::size_t i = first; i < last; ++i) {
      const OpEffect& effect = effect_of_(ops_[i]);
      if (is_kept(effect))
        keeps = true;
      else
        give(i, effect);
    }
    for (std::size_t i = first; keeps && i < last; ++i)
      if (const OpEffect& effect = effect_of_(ops_[i]); is_kept(effect)) give(i, effect);
  }

  [[nodiscard]] const RankMemory& peaks() const { return peaks_; }

 private:
  /// An I may keep more than it frees.
  [[nodiscard]] static bool is_kept(const OpEffect& effect) {
    return effect.activation.given + effect.logits_given < 0;
  }
  void take(std::size_t op, const OpEffect& effect) {
    live_ += effect.activation.live_taken;
    held_ += effect.activation.taken;
    bytes_ += effect.activation.taken + effect.logits_taken;
    note_bytes(op);
  }
  void give(std::size_t op, const OpEffect& effect) {
    live_ -= effect.activation.live_given;
    held_ -= effect.activation.given;
    bytes_ -= effect.activation.given + effect.logits_given;
    note_bytes(op);
  }
  void note_peaks() {
    peaks_.peak_live = std::max(peaks_.peak_live, live_);
    peaks_.peak_activation_bytes = std::max(peaks_.peak_activation_bytes, held_);
  }
  void note_bytes(std::size_t op) {
    if (bytes_ <= peaks_.peak_bytes) return;
    peaks_.peak_bytes = bytes_;
    peaks_.peak_op = op;
  }

  EffectOf effect_of_;
  std::span<const Op> ops_;
  Bytes bytes_ = 0;
  Bytes held_ = 0;
  std::int32_t live_ = 0;
  RankMemory peaks_;
};

RankMemory QueueAccounts::peaks(Rank rank) const {
  const auto peaks_by = [&](auto effect_of) {
    Account account(*this, rank, effect_of);
    for_each_entry(schedule_, schedule_.queue_begin(rank), schedule_.queue_end(rank),
                   [&](std::size_t first, std::size_t last) { account.add(first, last); });
    return account.peaks();
  };
  if (table_.empty()) return peaks_by([this](Op op) { return extended_effect(op); });
  return peaks_by([this](Op op) -> const OpEffect& {
    return table_[schedule_.slot_of(op).at() * kPlainKinds + index_of(op.kind())];
  });
}

Bytes static_bytes_of(const Schedule& schedule, const MemoryModel& model, Rank rank) {
  Bytes bytes = 0;
  for (const Slot slot : schedule.placement().slots_of(rank)) bytes += model.static_bytes[slot.at()];
  return bytes;
}

std::vector<QueuePeaks> measure_queues(const Schedule& schedule, const MemoryModel& model) {
  const QueueAccounts queues(schedule, model);
  std::vector<QueuePeaks> result;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    const RankMemory peaks = queues.peaks(rank);
    result.push_back({peaks.peak_live, peaks.peak_activation_bytes, peaks.peak_bytes});
  }
  return result;
}

}  // namespace pipeloom
