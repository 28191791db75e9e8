// Idle time, tinted by its cause.

#include <algorithm>
#include <cmath>

#include <pipeloom/metrics.hpp>
#include "gui/model/draw/chart_builder.hpp"

namespace pipeloom::gui {

void ChartListBuilder::add_gaps(const RowLane& lane) {
  for (const IdleSpan& gap : gaps_in(lane, from_, to_)) add_gap(lane, gap, from_, to_);
}

std::span<const IdleSpan> ChartListBuilder::gaps_in(const RowLane& lane, double from, double to) {
  const std::size_t rank = lane.row->rank.at();
  if (!lane.run->cause_track || rank >= lane.run->idle.size()) return {};
  const Slice seen = lane.run->cause_track->visible(rank, {from, to});
  return std::span(lane.run->idle[rank]).subspan(seen.first, seen.size());
}

void ChartListBuilder::add_gap(const RowLane& lane, const IdleSpan& gap, double from, double to) {
  // A run that hangs has no causes yet: its arrows say why it stands still.
  if (lane.run->hang) return;
  const double x0 = std::round(layout_.x_of(std::max(static_cast<double>(gap.start), from)));
  const double x1 = std::round(layout_.x_of(std::min(static_cast<double>(gap.end), to)));
  if (x1 - x0 < 1) return;
  const Preferences& preferences = session_.preferences;
  const Box box{x0, lane.clip.y0, std::min(x1, lane.clip.x1), lane.clip.y1};
  quad(list_.ground, box, rgba(gap_colour(preferences.palette, theme_of(preferences), gap.cause)));
  if (lane.labels) label_inside(box, name_of(gap.cause), ink_.muted);
}

}  // namespace pipeloom::gui
