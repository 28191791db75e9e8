#pragma once

// Orders that come from playing time forward with the run's own times: of the ops whose inputs have arrived, a free rank takes
// I before F before W, the oldest microbatch first.
//
// Source: Wu et al., PipeMorph (NSDI 2026): the policies of its pipeline simulator. The paper's B is the I of this program.

#include <vector>

#include <pipeloom/costs.hpp>

namespace pipeloom::schedules {

struct ReadyRule {
  /// [rank]: number of forwards that come before everything else, and then an I before the next forward. Empty: no such rule.
  std::vector<int> warmup = {};
  /// [rank]: most bytes of activations; an op that would exceed them waits, and W's run meanwhile. Empty: no limit.
  std::vector<Bytes> limit = {};
};

/// How many microbatches the stage may hold within `limit` so that each of them can run its I: at most `microbatches`.
[[nodiscard]] int room_for(const MemoryModel& memory, Rank rank, Bytes limit, int microbatches);

/// The order of p ranks and m microbatches: queues[r * 3m + i] is the kind of entry i of rank r. The k-th op of a kind belongs to
/// microbatch k. O(p m log p).
///
/// REQUIRES: `terms` are of Placement::linear(p) and summable (require_summable); every rank has room for one microbatch; warmup lies
/// between 1 and m, never rises from one rank to the next, and fits the limit.
[[nodiscard]] std::vector<OpKind> ready_order(const Terms& terms, int microbatches, const ReadyRule& rule);

}  // namespace pipeloom::schedules
