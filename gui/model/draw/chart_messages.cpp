// Messages under way, in the rows of sender and receiver.

#include <algorithm>
#include <cmath>

#include "gui/model/draw/chart_builder.hpp"

namespace pipeloom::gui {

namespace {

Rgba colour_of(const Preferences& preferences, bool gradient) {
  return rgba(message_colour(preferences.palette, theme_of(preferences), gradient));
}

}  // namespace

void ChartListBuilder::add_messages(const RowLane& lane, MessageLane which) {
  if (!lane.run->message_track) return;
  const std::size_t row = tracks::MessageTrack::row_of(lane.row->rank, which);
  if (lane.run->message_track->bars(row).empty()) return;
  const Rgba colours[] = {colour_of(session_.preferences, false), colour_of(session_.preferences, true)};
  if (add_message_boxes(lane, row, colours)) return;
  const ChartLane strip = which == MessageLane::Send ? ChartLane::Send : ChartLane::Receive;
  const auto& texels = list_.kept_texels.of(key_of(lane, strip), [&](TimeRange range, int bins, Rgba* out) {
    fill_from(*lane.run->message_track, row, colours, range, bins, out);
  });
  add_strip(lane, texels);
}

/// False if some, or all, are too narrow.
bool ChartListBuilder::add_message_boxes(const RowLane& lane, std::size_t row,
                                         std::span<const Rgba> colours) {
  const Slice seen = lane.run->message_track->visible(row, {from_, to_});
  if (seen.size() > 2 * static_cast<std::size_t>(columns_)) return false;
  const Box& clip = lane.clip;
  bool all = true;
  for (const std::uint32_t bar : lane.run->message_track->bars(row).subspan(seen.first, seen.size())) {
    const MessageBar& message = lane.run->message_bars[bar];
    const double x0 = std::max(layout_.x_of(static_cast<double>(message.start)), clip.x0);
    const double x1 = std::min(layout_.x_of(static_cast<double>(message.end)), clip.x1);
    if (x1 - x0 < kNarrow) {
      all = false;
      continue;
    }
    // A line at the start tells bars apart that follow each other without a break or overlap.
    quad(list_.quads, {x0, clip.y0, x1, clip.y1}, colours[message.gradient ? 1 : 0]);
    quad(list_.quads, {x0, clip.y0, x0 + 1, clip.y1}, ink_.background);
  }
  return all;
}

}  // namespace pipeloom::gui
