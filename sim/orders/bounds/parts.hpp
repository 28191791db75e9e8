#pragma once

// Figures that several bounds use: chains of data dependencies around the ops of a stage, and the work under way that a limit allows.

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "sim/base/tick_sum.hpp"
#include "sim/orders/problem.hpp"

namespace pipeloom::orders {

/// Sums of times, m S of them and more.
using Wide = TickSum::Wide;

/// The longest chains of one microbatch's ops, ranks' other work ignored. Heads end where the op starts. Tails begin where it ends, and
/// lead to the end of some rank's last op, less that rank's origin: an op that ends at t makes the value t + tail at least.
struct StageChain {
  Wide forward_head = 0;
  Wide input_head = 0;
  Wide forward_tail = 0;
  Wide input_tail = 0;
};

struct Parts {
  const Problem& problem;
  std::vector<StageChain> chains;                  ///< [stage]
  const std::function<bool()>* stopped = nullptr;  ///< as best_bound() has it; null: it is never stopped

  [[nodiscard]] bool is_stopped() const { return stopped != nullptr && (*stopped)(); }

  /// `of` must outlive it.
  explicit Parts(const Problem& of);

  [[nodiscard]] std::span<const std::size_t> stages_of(std::size_t rank) const {
    return problem.stages_of[rank];
  }
  /// The rank's first and last stage in model order: the first has its first F and last I, the last its last F and first I.
  [[nodiscard]] std::size_t first_stage(std::size_t rank) const { return problem.stages_of[rank].front(); }
  [[nodiscard]] std::size_t last_stage(std::size_t rank) const { return problem.stages_of[rank].back(); }
  /// When the rank's first F starts: h_r.
  [[nodiscard]] Wide start(std::size_t rank) const { return chains[first_stage(rank)].forward_head; }
  /// From a stage's start of F to the end of the same microbatch's I, at least.
  [[nodiscard]] Wide life(std::size_t stage) const {
    return chains[stage].input_head + problem.stages[stage].input - chains[stage].forward_head;
  }
  /// m times the sum of `of(StageWork)` over the rank's stages.
  template <class Of>
  [[nodiscard]] Wide all(std::size_t rank, Of&& of) const {
    Wide sum = 0;
    for (const std::size_t stage : stages_of(rank)) sum += of(problem.stages[stage]);
    return sum * static_cast<Wide>(problem.microbatches);
  }
  /// True if the rank may hold what all its forwards take at once.
  [[nodiscard]] bool holds_all(std::size_t rank) const {
    return problem.limit[rank] == kNoLimit ||
           all(rank, [](const StageWork& work) { return Wide{work.held}; }) <= problem.limit[rank];
  }
  /// How many microbatches a stage may hold from F to I, at most m; 0 where its limit admits no order. Each holds the rank's stages before
  /// this one as well.
  [[nodiscard]] std::size_t slots(std::size_t stage) const;
  /// How many may have begun a stage while the I of the rank's last stage of theirs is not over, at most m: the oldest of them holds the
  /// rank's later stages too, now or later.
  [[nodiscard]] std::size_t young(std::size_t stage) const;
  /// The time between I and the F that takes its place: min(W, I) where the bytes that `slots` leave do not hold
  /// what one W waits with, else 0.
  [[nodiscard]] Ticks slot_delay(std::size_t stage) const;

 private:
  /// The bytes that a microbatch at this stage holds of the rank's stages up to it.
  [[nodiscard]] Wide held_up_to(std::size_t stage) const;
  /// How many of those fit in `left`, at most m.
  [[nodiscard]] std::size_t places(std::size_t stage, Wide left) const;
};

/// Work that goes with bytes.
struct Load {
  Wide work = 0;
  Bytes bytes = 0;
};
/// No less than the most work of any choice of loads, each up to `copies` times, whose bytes fit in `limit`. O(n log n).
[[nodiscard]] Wide most_work(std::vector<Load> loads, std::size_t copies, Bytes limit);

// One bound each, on Problem's value; 0 or less where it has nothing to say. See bounds.cpp.
[[nodiscard]] Wide work_start_end(const Parts& parts);
[[nodiscard]] Wide head_work_tail(const Parts& parts);
[[nodiscard]] Wide slot_bound(const Parts& parts);
[[nodiscard]] Wide area_bound(const Parts& parts);
[[nodiscard]] Wide one_machine(const Parts& parts);

}  // namespace pipeloom::orders
