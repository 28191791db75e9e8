#pragma once

// What of a run is on screen, for exports of the view.

#include <optional>
#include <vector>

#include <pipeloom/error.hpp>
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

/// The whole ticks that the view shows of a run; no value if it shows nothing of it.
[[nodiscard]] std::optional<Span> visible_span(const ViewState& view, Span all);

struct RankRange {
  int first = 0;
  int last = 0;
  std::vector<bool> shown;  ///< [rank]
};
/// The ranks of a run whose rows are on screen, none where they are scrolled away; where no chart was drawn, those that the filter leaves.
[[nodiscard]] RankRange visible_ranks(Session& session, const RunModel& run);

[[nodiscard]] InputError nothing_in_view();
/// The active run. Throws InputError if there is none.
[[nodiscard]] const RunModel& run_to_export(const Session& session);

/// Calls fn(rank, op index, position) for the ops of these ranks that reach into `span`, by step, rank and queue, until it says false.
template <class Fn>
void for_each_visible(const RunModel& run, const std::vector<bool>& shown, Span span, Fn&& fn) {
  const Schedule& schedule = *run.schedule;
  for (int step = 0; step < run.timeline.steps; ++step)
    for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
      if (!shown[rank.at()]) continue;
      for (std::size_t i = schedule.queue_begin(rank); i < schedule.queue_end(rank); ++i) {
        const std::size_t at = run.timeline.index(step, i);
        if (run.timeline.start[at] < span.end && run.timeline.end[at] > span.start)
          if (!fn(rank, i, at)) return;
      }
    }
}

}  // namespace pipeloom::gui
