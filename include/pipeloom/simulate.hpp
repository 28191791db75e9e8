#pragma once

// From a schedule and its terms to times: when every op started and ended, or which rank waits for which where it hangs.
//
//   start(entry) = max(end of the previous entry of its rank, max over its ops of arrival(dependency))
//   arrival      = end of the producer + delay of the hop
//
// Each op waits for one tensor: F(s,k) for F(s-1,k); B or I(s,k) for the gradient of (s+1,k), on the last stage for its own F; W(s,k) for
// its own I. That B also waits for its own F on the other stages follows from the chain.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/op.hpp>
#include <pipeloom/schedule.hpp>
#include <pipeloom/units.hpp>

namespace pipeloom {

/// Times of `steps` runs of one schedule.
///
/// Shapes: start[step * num_ops + i], end[...] for op index i of schedule->ops(). The ops of a group share
/// start and end, unless the group ran its parts one after another. Time 0 is the start of the first step.
struct Timeline {
  std::shared_ptr<const Schedule> schedule;
  int steps = 1;
  TimeUnit unit = TimeUnit::Unit;
  std::vector<Ticks> start;
  std::vector<Ticks> end;

  [[nodiscard]] std::size_t index(int step, std::size_t op) const {
    return static_cast<std::size_t>(step) * schedule->num_ops() + op;
  }
  [[nodiscard]] Ticks start_of(std::size_t op, int step = 0) const { return start[index(step, op)]; }
  [[nodiscard]] Ticks end_of(std::size_t op, int step = 0) const { return end[index(step, op)]; }
};

/// First start and last end of a step over all ranks; {0, 0} without ops.
struct Span {
  Ticks start = 0;
  Ticks end = 0;
  [[nodiscard]] Ticks length() const { return end - start; }
  friend bool operator==(const Span&, const Span&) = default;
};
[[nodiscard]] Span span_of(const Timeline& timeline, int step = 0);
/// The same for one rank.
[[nodiscard]] Span span_of(const Timeline& timeline, Rank rank, int step = 0);

/// A schedule with its times for `steps.count` steps. REQUIRES: tables of `terms` fit the schedule's placement. Throws ScheduleError with
/// the first diagnostics if the schedule is illegal, HangError with the cycle of waits if it hangs, InputError if a time would pass
/// kMaxTicks.
[[nodiscard]] Timeline simulate(std::shared_ptr<const Schedule> schedule, const Terms& terms,
                                const Steps& steps = {});

/// One thing that is wrong. `code` is stable and short, for scripts.
struct Diagnostic {
  /// "misplaced", "duplicate", "missing-forward", "missing-backward", "missing-weight", "mixed-backward",
  /// "backward-before-forward", "weight-before-input" (or without it), "dependent-group", "slice-order", "recompute-order", "copy-order", "idle-rank", "hang"; "more"
  /// closes a list of a thousand and gives the number left out.
  std::string code;
  /// Its place: rank, position of the entry in its queue, op index; `op` is meaningless for a missing op, whose `rank` is
  /// where it should be.
  Rank rank;
  std::size_t slot = 0;
  Op op;
  /// One line: what was found and what was expected.
  std::string message;
};

/// Checks that this is a schedule and can run. Every op is on the rank of its stage (for the microbatch's replica), once; every
/// (stage, microbatch) that has a forward has either one B, or one I and one W (unless the schedule is forward-only), and the other way round; a
/// microbatch runs through all stages; on a rank F comes before B or I, I before W; the ops of a group do not
/// depend on each other. R is between F and the backward; O between F and its L, L before R and the backward, both alone and
/// never one without the other; the slices of a sequence go forward in order, and backward in the opposite order after the last
/// forward.
/// Where all of that holds, the queues must not wait for each other in a cycle either. Returns all diagnostics, in rank and queue order; empty
/// means that the schedule runs.
[[nodiscard]] std::vector<Diagnostic> validate(const Schedule& schedule);

/// A rank that cannot go on. `Needed` names what it waits for; it is a value, not a position, because what is missing has no position.
template <class Needed>
struct WaitNode {
  Rank rank;
  std::size_t at = 0;  ///< index of what the rank waits at: an op, an instruction of its list, an action
  Needed needs;
  Rank on;               ///< the rank that has it ahead, `rank` itself if it comes later in its own queue
  bool missing = false;  ///< `on` has it nowhere ahead
};

template <class Needed>
struct WaitGraph {
  /// Every rank that did not reach the end of its queue, in rank order.
  std::vector<WaitNode<Needed>> nodes;
  /// Indices into `nodes`: each waits for the next, the last for the first. Empty only if every chain of waits ends at something missing.
  std::vector<std::size_t> cycle;
  /// Number of things that ran: entries of queues, actions of rows.
  std::size_t done = 0;
};

/// Why a schedule hangs. A node's `at` is an op index, that of the op that waits within the entry at the rank's cursor, and it needs an op;
/// if that is in no queue it is missing and `on` is the rank itself. `done` counts entries.
using ScheduleHang = WaitGraph<Op>;

/// How the schedule hangs; nullopt if it does not. O(ops).
[[nodiscard]] std::optional<ScheduleHang> find_hang(const Schedule& schedule);

}  // namespace pipeloom
