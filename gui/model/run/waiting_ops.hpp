#pragma once

// Ops that a run does not reach, as it hangs: their places in the queue after the last op that ran.

#include <algorithm>
#include <cstddef>

#include "gui/model/run/run_model.hpp"

namespace pipeloom::gui {

/// More of a queue are not shown.
inline constexpr std::size_t kShownWaiting = 12;

/// Calls fn(op, start, end) for the next ops of the rank, one after another from `from` on. Does nothing for a run that ends.
template <class Fn>
void each_waiting(const RunModel& run, Rank rank, Ticks from, Fn&& fn) {
  if (!run.whole || !run.costs) return;
  const Schedule& whole = *run.whole;
  const std::size_t ran = run.schedule->queue_end(rank) - run.schedule->queue_begin(rank);
  const std::size_t first = whole.queue_begin(rank) + ran;
  const std::size_t last = std::min(whole.queue_end(rank), first + kShownWaiting);
  for (std::size_t i = first; i < last; ++i) {
    const Op op = whole.ops()[i];
    const Ticks end = from + run.costs->table_duration(op, whole.slot_of(op));
    fn(op, from, end);
    from = end;
  }
}

/// The time at which a rank of a run that hangs stops: the end of its last op, be it a copy. O(1).
[[nodiscard]] Ticks standstill(const RunModel& run, Rank rank);

/// The drawn span of a run: of one that hangs, with the ops that it does not reach. O(1), but O(ranks) for one that hangs.
[[nodiscard]] Span drawn_span(const RunModel& run);

}  // namespace pipeloom::gui
