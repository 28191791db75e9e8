#pragma once

// Orders of the six passes that a rank with two chunks of a V runs, and what they cost and hold: the working form of
// searches over V schedules with split backward (v_adaptive_order.hpp).

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include <pipeloom/costs.hpp>
#include "schedules/building_block.hpp"

namespace pipeloom::schedules {

inline constexpr std::size_t kPassKinds = 6;

/// The passes of each rank in order, [rank]; the k-th of a kind is microbatch k's.
using PassOrders = std::vector<std::vector<Pass>>;

[[nodiscard]] constexpr std::size_t index_of(Pass pass) {
  return static_cast<std::size_t>(pass);
}
[[nodiscard]] constexpr bool takes_memory(Pass pass) {
  return pass <= Pass::Forward1;
}
[[nodiscard]] constexpr bool is_weight(Pass pass) {
  return pass >= Pass::Weight1;
}
/// The weight pass of an input pass.
[[nodiscard]] constexpr Pass weight_of(Pass input) {
  return input == Pass::Input1 ? Pass::Weight1 : Pass::Weight0;
}
/// The op of a rank's pass on Placement::wave(ranks, 2).
[[nodiscard]] Op op_of(Pass pass, int ranks, Rank rank, Microbatch microbatch);

/// What a rank's passes cost and hold. Shapes: [pass].
struct RankTerms {
  std::array<Ticks, kPassKinds> duration = {};
  /// Between the end of what the pass waits for and its start; 0 within a rank.
  std::array<Ticks, kPassKinds> delay = {};
  /// Bytes that are held more from the pass's start on (forwards), and less from its end on (backwards): what a forward takes its I
  /// and W give back. What I keeps more for W than it frees (MemoryModel::released_at_input) counts from the forward on.
  std::array<Bytes, kPassKinds> taken = {};
  std::array<Bytes, kPassKinds> given = {};
  Bytes limit = 0;
};

/// The problem of a search: terms by rank.
class VProblem {
 public:
  /// REQUIRES: terms are for Placement::wave(ranks, 2), not sliced; limit has one value for each rank. `terms` must outlive it.
  VProblem(const Terms& terms, int ranks, std::span<const Bytes> limit);

  [[nodiscard]] int ranks() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] const RankTerms& at(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Ticks duration(int rank, Pass pass, int microbatch) const {
    if (costs_->microbatch_scale.empty()) return at(rank).duration[index_of(pass)];
    const Op op = op_of(pass, ranks(), Rank(rank), Microbatch(microbatch));
    return costs_->table_duration(op, Slot(op.stage().value()));
  }

 private:
  const Costs* costs_;
  std::vector<RankTerms> ranks_;
};

/// The least bytes with which a rank can run anything: both forwards of one microbatch.
[[nodiscard]] Bytes least_bytes(const RankTerms& terms);

/// The rank whose output the pass waits for; `rank` itself at the turns (f on the last rank, i on rank 0, I on the last one), where it is
/// the output of the pass before it; -1: none.
[[nodiscard]] int rank_before(Pass pass, int rank, int ranks);
[[nodiscard]] constexpr Pass pass_before(Pass pass) {
  return static_cast<Pass>(index_of(pass) - 1);
}

/// What waits for the output of a rank's pass. REQUIRES: not a weight pass, nor rank 0's I.
struct Receiver {
  int rank;
  Pass pass;
};
[[nodiscard]] Receiver receiver(Pass pass, int rank, int ranks);

/// Whether no rank ever holds more than its limit. With `weights_at_once`, as if each W ran right after its I, wherever it stands.
[[nodiscard]] bool fits(const VProblem& problem, const PassOrders& orders, bool weights_at_once);

/// The orders without the weight passes.
[[nodiscard]] PassOrders without_weights(const PassOrders& orders);

/// From and to schedules on Placement::wave(p, 2) with split backward whose passes come in microbatch order.
[[nodiscard]] PassOrders orders_of(const Schedule& schedule);
[[nodiscard]] Schedule schedule_of(const PassOrders& orders, int microbatches);

}  // namespace pipeloom::schedules
