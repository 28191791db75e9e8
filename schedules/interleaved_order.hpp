#pragma once

// What the two interleaved schedules share: Megatron-LM's table of virtual microbatches and its warm-up
// counts.
//
// Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM"
// (2021, arXiv 2104.04473), section 2.2; group sizes other than p as in Megatron-LM's
// microbatch_group_size_per_vp_stage and Llama 3 (2024, arXiv 2407.21783), section 3.3.2.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "schedules/generator.hpp"

namespace pipeloom::schedules {

/// N: microbatches per group, p by default.
[[nodiscard]] int group_size_of(const Params& params);

/// min(m v, 2(p - 1 - r) + (v - 1) N + extra): forwards of rank r before its first backward.
[[nodiscard]] std::int64_t interleaved_warmup(const Params& params, Rank rank, int extra);

/// Every rank runs its m v forwards in one order, the backwards likewise; only the point where the backwards
/// start differs.
///
/// The table goes through groups of N microbatches (the last may be short); within a group chunk by chunk,
/// and within a chunk microbatch by microbatch. Row t is the t-th forward; the t-th backward takes the same
/// microbatch on chunk v-1-c.
class InterleavedOrder {
 public:
  explicit InterleavedOrder(const Params& params);

  /// m v.
  [[nodiscard]] std::size_t length() const { return rows_.size(); }
  /// The t-th forward and backward of a rank. Stage = chunk * p + rank.
  [[nodiscard]] Op forward(std::size_t t, Rank rank) const {
    return {OpKind::Forward, rows_[t].stage + rank.value(), rows_[t].microbatch};
  }
  [[nodiscard]] Op backward(std::size_t t, Rank rank) const {
    const Row& row = rows_[t];
    return {OpKind::Backward, Stage(last_stage_ - row.stage.value()) + rank.value(), row.microbatch};
  }

 private:
  struct Row {
    Stage stage;  ///< of rank 0
    Microbatch microbatch;
  };
  int last_stage_;  ///< of rank 0: (v - 1) p
  std::vector<Row> rows_;
};

/// Whether some ranks wait for each other in a cycle, for schedules with 2(p - 1 - r) + (v - 1) N + extra
/// warm-up forwards.
///
/// A rank comes back to a microbatch's next chunk after a group; if the next group is too short to cover the
/// way of the first one to the last rank and back, the last ranks wait for forwards that the first ranks run
/// only after backwards which they wait for themselves. With v >= 2 and more than one group the order hangs
/// exactly if two consecutive groups have together at most 2p - 3 + extra microbatches, where with v = 2 a
/// single microbatch after the first group is not enough to hang. Found by exhaustive trial (p <= 11, v <= 5,
/// N <= 2p + 3, four groups and more), which the tests repeat.
[[nodiscard]] bool interleaved_hangs(const Params& params, int extra);

/// "would hang (rank 3 waits at ...)": names the cycle in the schedule that `emit` makes.
[[nodiscard]] std::string hang_text(const Params& params, Schedule (*emit)(const Params&));

/// PyTorch's round rule: R = max(1, m div p) rounds, N = m / R. Sets params.group_size unless it is given;
/// throws ScheduleError if m is no multiple of R.
void take_pytorch_rounds(Params& params);

}  // namespace pipeloom::schedules
