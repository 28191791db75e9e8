#pragma once

// Shared parts of the interleaved schedules: Megatron-LM's table of virtual microbatches and its warm-up counts.
//
// Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM"
// (2021, arXiv 2104.04473), section 2.2; group sizes other than p as in Megatron-LM's
// microbatch_group_size_per_vp_stage and Llama 3 (2024, arXiv 2407.21783), section 3.3.2.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schedules/generator.hpp"

namespace pipeloom::schedules {

/// N: microbatches per group, p by default; the largest of a list.
[[nodiscard]] int group_size_of(const Params& params);

/// Microbatches of each group; their sum is m.
[[nodiscard]] std::vector<int> groups_of(const Params& params);

/// True if every group has N microbatches, except that the last one may be shorter.
[[nodiscard]] bool has_equal_groups(const Params& params);

/// min(m v, 2(p - 1 - r) + (v - 1) N + extra): forwards of rank r before its first backward.
[[nodiscard]] std::int64_t interleaved_warmup(const Params& params, Rank rank, int extra);

/// Every rank runs its m v forwards in one order, the backwards likewise; only the point where the backwards
/// start differs.
///
/// The table goes through groups of N microbatches (the last may be short), or of the sizes of a list; within a
/// group chunk by chunk, and within a chunk microbatch by microbatch. Row t is the t-th forward; the t-th backward takes the same
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
  [[nodiscard]] Op backward(std::size_t t, Rank rank) const { return mirrored(OpKind::Backward, t, rank); }
  /// The two parts of the t-th backward.
  [[nodiscard]] Op backward_input(std::size_t t, Rank rank) const {
    return mirrored(OpKind::BackwardInput, t, rank);
  }
  [[nodiscard]] Op backward_weight(std::size_t t, Rank rank) const {
    return mirrored(OpKind::BackwardWeight, t, rank);
  }

 private:
  [[nodiscard]] Op mirrored(OpKind kind, std::size_t t, Rank rank) const {
    const Row& row = rows_[t];
    return {kind, Stage(last_stage_ - row.stage.value()) + rank.value(), row.microbatch};
  }

  struct Row {
    Stage stage;  ///< of rank 0
    Microbatch microbatch;
  };
  int last_stage_;  ///< of rank 0: (v - 1) p
  std::vector<Row> rows_;
};

/// True if some ranks wait for each other in a cycle because two consecutive groups of N microbatches, or the last two,
/// have together at most `too_few` microbatches, v >= 2.
///
/// A rank comes back to a microbatch's next chunk after a group; if the next group is too short to cover the
/// way of the first one to the last rank and back, the last ranks wait for forwards that the first ranks run
/// only after backwards which they wait for themselves. How short that is follows from the warm-up:
///
///     forwards before the first backward, or with it       too_few
///     2(p - 1 - r) + (v - 1) N + 1 + extra                  2p - 3 + extra
///     (p - 1 - r) + (v - 1) N + 1                           p - 2
///
/// With v = 2 a single microbatch after the first group is not enough to hang, except between steps that are pairs. Found by exhaustive trial
/// (p <= 11, v <= 5, N <= 2p + 3, four groups and more), which the tests repeat.
[[nodiscard]] bool groups_too_short(const Params& params, std::int64_t too_few,
                                    bool single_is_harmless = true);

/// Generator::predicate, which names the cycle, and Generator::accepts of an interleaved schedule.
struct HangRule {
  std::function<std::string(const Params&)> predicate;
  std::function<bool(const Params&)> accepts;
};
/// `hangs` says whether equal groups do; a list of sizes is tried, in O(p m v).
[[nodiscard]] HangRule hang_rule(bool (*hangs)(const Params&), Schedule (*emit)(const Params&));

/// PyTorch's round rule, R = max(1, m div p) rounds of N = m / R microbatches, as the defaults of the alias of
/// this name in this framework: sets params.options.group_size unless it is given; throws ScheduleError if m is no multiple of R.
[[nodiscard]] std::function<void(Params&)> pytorch_rounds(std::string alias,
                                                          std::string framework = "PyTorch");

/// True if the groups are those of the round rule.
[[nodiscard]] bool has_pytorch_rounds(const Params& params);

}  // namespace pipeloom::schedules
