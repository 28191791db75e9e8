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
  if (!lane.run->message_lanes || !lane.run->message_lanes->has(lane.row->rank, which)) return;
  if (!add_message_boxes(lane, which)) add_message_strip(lane, which);
}

/// False if some, or all, are too narrow.
bool ChartListBuilder::add_message_boxes(const RowLane& lane, MessageLane which) {
  const auto bars = lane.run->message_lanes->visible(lane.row->rank, which, from_, to_);
  if (bars.size() > 2 * static_cast<std::size_t>(columns_)) return false;
  const Box& clip = lane.clip;
  const Rgba colour[] = {colour_of(session_.preferences, false), colour_of(session_.preferences, true)};
  bool all = true;
  for (const std::uint32_t bar : bars) {
    const MessageBar& message = lane.run->message_bars[bar];
    const double x0 = std::max(layout_.x_of(static_cast<double>(message.start)), clip.x0);
    const double x1 = std::min(layout_.x_of(static_cast<double>(message.end)), clip.x1);
    if (x1 - x0 < kNarrow) {
      all = false;
      continue;
    }
    // A line at the start tells bars apart that follow each other without a break or overlap.
    quad(list_.quads, {x0, clip.y0, x1, clip.y1}, colour[message.gradient ? 1 : 0]);
    quad(list_.quads, {x0, clip.y0, x0 + 1, clip.y1}, ink_.background);
  }
  return all;
}

void ChartListBuilder::add_message_strip(const RowLane& lane, MessageLane which) {
  const std::array<Rgba, kOpKinds> colours = {colour_of(session_.preferences, false),
                                              colour_of(session_.preferences, true)};
  const auto fill = [&](TimeRange range, int bins, Rgba* texels) {
    lane.run->message_lanes->shares(lane.row->rank, which, range, bins, message_shares_);
    for (std::size_t i = 0; i < message_shares_.size(); ++i) {
      BusyShares busy;
      busy.of[0] = message_shares_[i].activation;
      busy.of[1] = message_shares_[i].gradient;
      texels[i] = texel_of(busy, colours);
    }
  };
  const ChartLane strip = which == MessageLane::Send ? ChartLane::Send : ChartLane::Receive;
  add_strip(lane, list_.kept_texels.of(key_of(lane, strip), fill));
}

}  // namespace pipeloom::gui
