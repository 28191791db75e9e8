#pragma once

// What the window makes of a run, without a window.

#include <algorithm>
#include <cstddef>

#include "gui/model/chart/chart_layout.hpp"
#include "gui/model/chart/op_walk.hpp"
#include "gui/model/draw/chart_list.hpp"
#include "gui/model/panels/causes.hpp"
#include "gui/model/panels/compare_model.hpp"
#include "gui/model/panels/details.hpp"
#include "gui/model/panels/problems.hpp"
#include "gui/model/panels/range_stats.hpp"
#include "gui/model/session/session.hpp"
#include "gui/model/session/state.hpp"
#include "tests/fuzz/require.hpp"

namespace pipeloom::fuzz {

/// One frame of this size, and what is under the pointer all over it.
inline void check_frame(gui::Session& session, const gui::Box& area) {
  gui::ChartLayout layout;
  gui::ChartList list;
  gui::lay_out_chart(session, area, 1, layout);
  gui::build_chart_list(session, layout, {}, list);
  const std::size_t ops = session.active_run()->timeline.start.size();
  for (int y = 0; y < 16; ++y)
    for (int x = 0; x < 16; ++x) {
      const gui::Hit hit =
          layout.hit(area.x0 + x * (area.x1 - area.x0) / 16, area.y0 + y * (area.y1 - area.y0) / 16);
      require(!hit.op || hit.op->op < ops);
    }
}

/// Pages about ops, gaps, causes and ranges.
inline void check_panels(const gui::RunPtr& run) {
  const gui::OpWalk walk(run->schedule);
  const std::size_t ops = run->schedule->num_ops();
  for (std::size_t op = 0; op < ops; op += 1 + ops / 16)
    require(!gui::to_text(gui::details_of_op(*run, walk, op, {})).empty());
  const gui::CausesSummary causes = gui::summarise_causes(*run);
  for (const gui::GapRef& gap : causes.longest)
    require(!gui::to_text(gui::details_of_gap(*run, walk, gap)).empty());
  require(!gui::metric_lines(*run, causes).empty());
  for (Rank rank{0}; rank < Rank(run->ranks()); ++rank) {
    const gui::RankRange all = gui::range_of(*run, rank, run->span().start, run->span().end);
    require(all.busy + all.idle == run->span().length());
  }
  (void)gui::run_slack(*run);
  for (const gui::Problem& problem : gui::examine_run(*run).problems) require_one_line(problem.message);
  require(gui::compare_runs({run, run}).pairs.front().ops.largest_difference == 0);
}

/// A run as it is when it was opened.
inline void check_window(const gui::RunPtr& run) {
  gui::Session session;
  session.add_run(run, false);
  check_frame(session, {0, 0, 968, 600});
  check_frame(session, {0, 0, 120, 90});
  require(!gui::state_dump(session, {}).empty());
  check_panels(run);
}

}  // namespace pipeloom::fuzz
