#pragma once

// The problem that an order solves: F, I and W of every stage and microbatch on given ranks, under given times and memory.
//
// All microbatches are alike on a stage. Then any order that works can be relabelled so that the ops of one kind on one stage run in
// microbatch order: the k-th F needs k finished forwards before it, and the k-th that finished is early enough; likewise I and W. So an
// order is one word of letters per rank, and which microbatch a letter means is how often it stood before.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/base/table_size.hpp"

namespace pipeloom::orders {

/// The work of one microbatch on a stage. Times in ticks, memory in the memory model's units (MemoryModel::parts).
struct StageWork {
  std::size_t rank = 0;
  std::size_t chunk = 0;  ///< which of the rank's stages, in model order
  Ticks forward = 0;
  Ticks input = 0;   ///< I; the whole backward where it is not cut
  Ticks weight = 0;  ///< W; 0 where the backward is not cut
  Ticks again = 0;   ///< of `input`: R, which does not wait for the gradient; words are timed as if it did
  Ticks forward_delay = 0;   ///< from the end of F on the stage before; 0 on the first
  Ticks gradient_delay = 0;  ///< from the end of I on the next stage; 0 on the last
  Bytes held = 0;            ///< taken at the start of F
  Bytes dropped = 0;         ///< that R takes in addition, until the end of I (Problem::reserve)
  Bytes kept = 0;            ///< of it after the end of I, until the end of W; may be more than `held`
  bool is_copied = false;    ///< what is held waits in the host's memory between F and I (sim/orders/entries)
  Ticks offload = 0;         ///< that is_copied takes to get there
  Ticks reload = 0;          ///< and back

  [[nodiscard]] Ticks work() const { return forward + input + weight; }
};

inline constexpr Bytes kNoLimit = std::numeric_limits<Bytes>::max();

struct Problem {
  std::size_t microbatches = 0;
  bool cut = true;                                  ///< whether backwards are cut into I and W
  std::vector<StageWork> stages;                    ///< [stage], in model order
  std::vector<std::vector<std::size_t>> stages_of;  ///< [rank][chunk], in model order; none is empty
  std::vector<Bytes> limit;                         ///< [rank]: most bytes of activations; kNoLimit for none
  std::vector<Bytes> reserve;  ///< [rank]: what `limit` leaves out for StageWork::dropped; empty: nothing
  std::vector<Ticks> origin;   ///< [rank]: its last end counts from here, see objective()
  /// [stage of an F * most chunks of a rank + chunk of a backward]: how long both take as one overlapped pair, with W in the backward; kMaxTicks where
  /// that is no shorter. Empty where no pair is shorter.
  std::vector<Ticks> pairs;
  /// Ops between F and I of a pass up to which nothing of it is copied.
  std::int32_t least_gap = 0;

  [[nodiscard]] std::size_t ranks() const { return stages_of.size(); }
  /// REQUIRES: pairs, and stages of one rank.
  [[nodiscard]] Ticks pair(std::size_t forward, std::size_t backward) const {
    return pairs[forward * (pairs.size() / stages.size()) + stages[backward].chunk];
  }
  [[nodiscard]] bool has_copies() const {
    return std::ranges::any_of(stages, [](const StageWork& stage) { return stage.is_copied; });
  }
  /// True if words alone do not say when ops run and what ranks hold: there are copies, or forwards run again (sim/orders/entries).
  [[nodiscard]] bool needs_entries() const {
    return std::ranges::any_of(stages,
                               [](const StageWork& stage) { return stage.is_copied || stage.again > 0; });
  }
  [[nodiscard]] const StageWork& at(std::size_t rank, std::size_t chunk) const {
    return stages[stages_of[rank][chunk]];
  }
  /// Ops of all ranks: 3 m S, those without duration included.
  [[nodiscard]] std::size_t num_ops() const { return table_size(3, microbatches, stages.size()); }
};

/// The value that an order makes small: the largest of (last end of rank r) - origin[r].
enum class Objective : std::uint8_t {
  Makespan,  ///< origin 0
  Window,    ///< origin head_of(r): the first start of every rank, which no order can move
};

/// The earliest start of the first F of rank r, h_r: forwards and delays before its first stage.
[[nodiscard]] Ticks head_of(const Problem& problem, std::size_t rank);

/// Sets Problem::origin.
void set_objective(Problem& problem, Objective objective);

/// The problem of these terms. `limit` [rank] counts activations only; empty: none. With `cut` false, I means B and W takes nothing.
/// Costs::rank_time is in the durations of the ops that receive and send; Costs::entry in each op that takes time.
/// Throws ScheduleError where the placement has replicas, a rank without a stage, or more than kMaxChunks stages on one.
/// REQUIRES: terms of this placement, whose numbers do not depend on microbatch or slice (see uniform_over_microbatches).
[[nodiscard]] Problem make_problem(const Placement& placement, int microbatches, const Terms& terms,
                                   std::vector<Bytes> limit, Objective objective, bool cut = true);

/// Sets Problem::pairs where these costs make some pair shorter than its ops, by more than a thousandth. Groups whose parts run one after another are none.
/// REQUIRES: make_problem() made it of this placement and these costs, with its backwards cut.
void add_pairs(Problem& problem, const Placement& placement, const Costs& costs);

/// Limits of ranks of which all that is taken and given back is a multiple of one size are multiples of it, too, from then on. The same orders keep them.
void round_limits(Problem& problem);

/// No rank may hold more than `most`.
void tighten(Problem& problem, Bytes most);

/// Tighter limits for all ranks, bytes, falling: the last `count` whole numbers of stages of a rank, as shares of the microbatch that takes most, that take less than the
/// loosest limit. Those of two problems that differ in limits only are the same below the lesser limit. None where there is no limit, or nothing is held.
[[nodiscard]] std::vector<Bytes> tighter_limits(const Problem& problem, std::size_t count);

inline constexpr std::size_t kMaxChunks = 80;

/// True if no duration is said of a microbatch or slice of its own: what the words of an order rest on.
[[nodiscard]] bool uniform_over_microbatches(const Terms& terms);

}  // namespace pipeloom::orders
