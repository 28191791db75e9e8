// Messages under way, in the rows of sender and receiver.

#include <algorithm>
#include <cmath>

#include "gui/model/chart_builder.hpp"

namespace pipeloom::gui {

void ChartListBuilder::add_messages(const RowLane& lane, MessageLane which) {
  const RunModel& run = *lane.run;
  if (!run.message_lanes || !run.message_lanes->has(lane.row->rank, which)) return;
  const Preferences& preferences = session_.preferences;
  const Rgba colour[] = {rgba(message_colour(preferences.palette, theme_of(preferences), false)),
                         rgba(message_colour(preferences.palette, theme_of(preferences), true))};
  const auto bars = run.message_lanes->visible(lane.row->rank, which, from_, to_);
  const Box& clip = lane.clip;
  bool narrow = bars.size() > static_cast<std::size_t>(2 * columns_);
  if (!narrow) {
    for (const std::uint32_t bar : bars) {
      const MessageBar& message = run.message_bars[bar];
      const double x0 = std::max(layout_.x_of(static_cast<double>(message.start)), clip.x0);
      const double x1 = std::min(layout_.x_of(static_cast<double>(message.end)), clip.x1);
      if (x1 - x0 < kNarrow) {
        narrow = true;
        continue;
      }
      // A line at the start tells bars apart that follow each other without a break or overlap.
      quad(list_.quads, {x0, clip.y0, x1, clip.y1}, colour[message.gradient ? 1 : 0]);
      quad(list_.quads, {x0, clip.y0, x0 + 1, clip.y1}, ink_.background);
    }
  }
  if (!narrow) return;
  const TimeRange range{from_, from_ + columns_ / pixels_per_tick_};
  run.message_lanes->shares(lane.row->rank, which, range, columns_, message_shares_);
  Rgba* const texels = new_texels(lane);
  for (std::size_t i = 0; i < message_shares_.size(); ++i) {
    const MessageShares& shares = message_shares_[i];
    BusyShares busy;
    busy.of[0] = shares.activation;
    busy.of[1] = shares.gradient;
    texels[i] = texel_of(busy, {colour[0], colour[1]});
  }
}

}  // namespace pipeloom::gui
