#pragma once

// Orders that come from playing a rule: every rank that is free takes, of the passes that are ready, the one
// that the rule puts first.

#include <cstdint>
#include <limits>

#include <pipeloom/schedule.hpp>

namespace pipeloom::schedules {

/// Key by which a list order compares passes; the smaller one runs first. Packed, because it is computed several times for each op.
using ListKey = std::int64_t;

/// Compares `first`, then `second`, then `third`. REQUIRES: each lies between -kMaxIndex and kMaxIndex.
[[nodiscard]] constexpr ListKey list_key(int first, int second, int third) {
  constexpr ListKey kSpan = 2 * ListKey{kMaxIndex} + 1;
  return (first * kSpan + second) * kSpan + third;
}

/// How the order is made. Slots are the rule's own time: the order does not depend on the run's costs.
struct ListRule {
  int forward_slots = 1;
  int backward_slots = 1;
  /// Forwards of one replica that run as one pass of forward_slots; they are next to each other in the
  /// queue.
  int forwards_together = 1;
  /// Most microbatches of a replica between F and B on a stage; a forward that would exceed it waits.
  int max_live = std::numeric_limits<int>::max();
  /// The pass's place among those that are ready. `microbatch` counts within the replica.
  ListKey (*key)(OpKind kind, int stage, int microbatch) = nullptr;
};

/// F and B of every stage and microbatch. The first half of the microbatches belongs to replica 0, the rest to
/// replica 1, if there are two.
///
/// REQUIRES: microbatches is a multiple of the replicas; `rule.key` prefers the earlier of two microbatches of
/// one stage and kind, and compares microbatches by their difference only; max_live allows a pass.
///
/// Steps: one per op and stage of its rank until the order repeats, then one per op.
[[nodiscard]] Schedule list_order(const Placement& placement, int microbatches, const ListRule& rule);

}  // namespace pipeloom::schedules
