#pragma once

// A rank's account of bytes in queue order, for bytes that times do not change: those that no copy, no receive buffer and no entry of 0 ticks
// touches. The inside of sim/memory.hpp, whose functions ask for it.

#include <vector>

#include <pipeloom/metrics.hpp>
#include "sim/memory.hpp"

namespace pipeloom {

/// Bytes that an op takes at its start and gives back at its end, activations and logits apart.
struct OpEffect {
  QueueEffect activation;
  Bytes logits_taken = 0;
  Bytes logits_given = 0;
};

class QueueAccounts {
 public:
  /// Both must outlive it.
  QueueAccounts(const Schedule& schedule, const MemoryModel& model);

  /// Peaks of a rank whose entries run one after another, each at least one tick long; bytes on the host are not counted.
  [[nodiscard]] RankMemory peaks(Rank rank) const;

 private:
  [[nodiscard]] OpEffect extended_effect(Op op) const;

  template <class EffectOf>
  class Account;
  const Schedule& schedule_;
  const MemoryModel& model_;
  ActivationEffects effects_;
  std::vector<OpEffect> table_;  // [slot * kinds of plain ops + kind]; empty where more than these decide
};

/// Bytes that a rank always holds.
[[nodiscard]] Bytes static_bytes_of(const Schedule& schedule, const MemoryModel& model, Rank rank);

}  // namespace pipeloom
