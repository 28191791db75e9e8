// What a rank holds, as a curve below its ops.

#include <algorithm>
#include <cmath>

#include "gui/model/draw/chart_builder.hpp"
#include "sim/memory_text.hpp"

namespace pipeloom::gui {
namespace {

/// The bytes at the top of the strip: the limit is in sight unless the curve would be flat then.
double top_bytes(const RunModel& run, Rank rank) {
  constexpr double kAir = 1.12;
  constexpr double kFlat = 4;
  const auto peak = static_cast<double>(run.memory_track->peak_bytes());
  const auto limit = static_cast<double>(run.memory->limit_of(rank).value_or(0));
  return std::max(limit <= kFlat * peak ? std::max(peak, limit) : peak, 1.0) * kAir;
}

}  // namespace

void ChartListBuilder::add_memory(const RowLane& lane) {
  if (!lane.run->memory_track) return;
  const auto& extents = list_.kept_extents.of(
      key_of(lane, ChartLane::Memory), [&](TimeRange range, int bins, MemoryExtent* out) {
        lane.run->memory_track->extents(lane.row->rank, range, bins, extents_);
        std::copy(extents_.begin(), extents_.end(), out);
      });
  const double per_byte = lane.strip.height / top_bytes(*lane.run, lane.row->rank);
  const double foot = lane.strip.bottom();
  // Floating pixels of equal height become one box.
  std::size_t peak = 0;
  for (std::size_t i = 0; i < extents.size();) {
    const MemoryExtent extent = extents[i];
    std::size_t end = i + 1;
    while (end < extents.size() && extents[end] == extent) ++end;
    if (extent.most > extents[peak].most) peak = i;
    const double x0 = layout_.plot.x0 + static_cast<double>(i);
    const double x1 = std::min(layout_.plot.x0 + static_cast<double>(end), lane.clip.x1);
    i = end;
    if (extent.most <= 0) continue;
    const double high = std::round(foot - static_cast<double>(extent.most) * per_byte);
    const double low = std::round(foot - static_cast<double>(extent.least) * per_byte);
    const double line = std::max(low, high + 1);
    quad(list_.quads, {x0, std::max(line, lane.clip.y0), x1, lane.clip.y1}, ink_.memory_fill);
    quad(list_.quads, {x0, std::max(high, lane.clip.y0), x1, std::min(line, lane.clip.y1)}, ink_.memory_line);
  }
  add_memory_limit(lane, per_byte);
  add_memory_peak(lane, per_byte, peak, extents[peak].most);
}

void ChartListBuilder::add_memory_limit(const RowLane& lane, double per_byte) {
  const auto limit = lane.run->memory ? lane.run->memory->limit_of(lane.row->rank) : std::nullopt;
  if (!limit) return;
  const double y = std::round(lane.strip.bottom() - static_cast<double>(*limit) * per_byte);
  if (y < lane.clip.y0 || y >= lane.clip.y1) return;
  const double dash = 5 * scale_;
  for (double x = lane.clip.x0; x < lane.clip.x1; x += 2 * dash)
    quad(list_.quads, {x, y, std::min(x + dash, lane.clip.x1), y + 1}, ink_.memory_limit);
}

void ChartListBuilder::add_memory_peak(const RowLane& lane, double per_byte, std::size_t bin, Bytes most) {
  const double side = std::round(2 * scale_);
  if (most <= 0 || lane.strip.height < 4 * side) return;
  const double x = layout_.plot.x0 + static_cast<double>(bin) + 0.5;
  const double y = std::round(lane.strip.bottom() - static_cast<double>(most) * per_byte);
  if (y < lane.clip.y0 || y + side >= lane.clip.y1) return;
  const auto limit = lane.run->memory ? lane.run->memory->limit_of(lane.row->rank) : std::nullopt;
  const bool over = limit && most > *limit;
  const Rgba colour = over ? ink_.memory_limit : ink_.muted;
  quad(list_.quads, {x - side, y - side / 2, x + side, y + side * 1.5}, colour);
  if (lane.strip.height < fonts_.small.height) return;
  const std::string text = memory_cell(*lane.run->memory, most);
  const double width = fonts_.small.width(text);
  const double left = x + 3 * side + width < lane.clip.x1 ? x + 3 * side : x - 3 * side - width;
  const double top = std::clamp(y + 2 * scale_, lane.clip.y0, lane.clip.y1 - fonts_.small.height);
  label(list_.labels, left, top, text, colour);
}

}  // namespace pipeloom::gui
