#include "gui/model/run/waiting_ops.hpp"

namespace pipeloom::gui {

Ticks standstill(const RunModel& run, Rank rank) {
  // The last work op; a copy in flight may end later.
  constexpr std::size_t kLooked = 8;
  const std::size_t begin = run.schedule->queue_begin(rank);
  const std::size_t end = run.schedule->queue_end(rank);
  Ticks last = run.span().start;
  for (std::size_t op = end; op > begin && op + kLooked > end; --op)
    last = std::max(last, run.timeline.end[op - 1]);
  return last;
}

Span drawn_span(const RunModel& run) {
  // Enough of very many ranks to see that something follows.
  constexpr int kMostRanks = 1024;
  Span span = run.span();
  if (!run.whole) return span;
  for (Rank rank{0}; rank < Rank(std::min(run.ranks(), kMostRanks)); ++rank)
    each_waiting(run, rank, standstill(run, rank),
                 [&](Op, Ticks, Ticks end) { span.end = std::max(span.end, end); });
  return span;
}

}  // namespace pipeloom::gui
