// Curves of memory: below the ops of each rank, and one rank of each run on a track under all rows.

#include <algorithm>
#include <cmath>

#include "gui/model/chart/pressed_rank.hpp"
#include "gui/model/draw/chart_builder.hpp"
#include "gui/model/edit/chart_pointer.hpp"
#include "sim/draw/words.hpp"
#include "sim/memory.hpp"

namespace pipeloom::gui {

// The memory that a rank holds, as a curve below its ops.

namespace {

/// The bytes at the top of the strip: the limit is in sight unless the curve would be flat then.
double top_bytes(const RunModel& run, Rank rank) {
  constexpr double kAir = 1.12;
  constexpr double kFlat = 4;
  const auto peak = static_cast<double>(run.memory_track->peak());
  const auto limit = static_cast<double>(run.memory->limit_of(rank).value_or(0));
  return std::max(limit <= kFlat * peak ? std::max(peak, limit) : peak, 1.0) * kAir;
}

}  // namespace

void ChartListBuilder::add_memory(const RowLane& lane) {
  if (!lane.run->memory_track) return;
  const auto& extents =
      list_.kept_extents.of(key_of(lane, ChartLane::Memory), [&](TimeRange range, int bins, Extent* out) {
        lane.run->memory_track->extents(lane.row->rank.at(), range, {out, static_cast<std::size_t>(bins)});
      });
  const double per_byte = lane.strip.height / top_bytes(*lane.run, lane.row->rank);
  const double foot = lane.strip.bottom();
  // Floating pixels of equal height become one box.
  std::size_t peak = 0;
  for (std::size_t i = 0; i < extents.size();) {
    const Extent extent = extents[i];
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
  // A row that is half out of sight has no room for letters.
  if (lane.clip.y1 - lane.clip.y0 < fonts_.small.height) return;
  const std::string text = memory_cell(*lane.run->memory, most);
  const double width = fonts_.small.width(text);
  const double left = x + 3 * side + width < lane.clip.x1 ? x + 3 * side : x - 3 * side - width;
  const double top = std::clamp(y + 2 * scale_, lane.clip.y0, lane.clip.y1 - fonts_.small.height);
  label(list_.labels, left, top, text, colour);
}

// The track under the rows.

namespace {

/// A strip of the cache that no row has.
constexpr int kTrackLane = kChartLanes;

/// The limit is in sight unless the curves would be flat then.
constexpr double kFlatTrack = 4;
constexpr double kTrackAir = 1.12;

Rgba see_through(Rgba colour, unsigned alpha) {
  return (colour & 0x00FFFFFFU) | (alpha << 24U);
}

}  // namespace

/// Runs of one kind of bytes share a scale: that of the active one, or of the first that has memory.
std::vector<ChartListBuilder::TrackCurve> ChartListBuilder::track_curves() {
  std::vector<TrackCurve> curves;
  for (const ChartBlock& block : layout_.blocks)
    if (const auto rank = part_.memory_rank(session_, *block.run))
      curves.push_back({&block, *rank, block.index == session_.active});
  // The active one lies on top.
  std::stable_sort(curves.begin(), curves.end(),
                   [](const TrackCurve& a, const TrackCurve& b) { return a.active < b.active; });
  if (curves.empty()) return curves;
  const bool counted = counts_activations(*curves.back().block->run->memory);
  std::erase_if(curves, [&](const TrackCurve& curve) {
    return counts_activations(*curve.block->run->memory) != counted;
  });
  return curves;
}

void ChartListBuilder::add_memory_track() {
  const Box& box = layout_.memory;
  if (box.empty()) return;
  quad(list_.ground, box, ink_.row);
  const std::vector<TrackCurve> curves = track_curves();
  if (curves.empty()) return;
  double peak = 1;
  double limit = 0;
  for (const TrackCurve& curve : curves) {
    const MemoryModel& memory = *curve.block->run->memory;
    peak = std::max(peak, memory.in_bytes(curve.block->run->memory_track->peak()));
    limit = std::max(limit, memory.in_bytes(memory.limit_of(curve.rank).value_or(0)));
  }
  const double top = limit <= kFlatTrack * peak ? std::max(peak, limit) : peak;
  const double per_byte = box.height() / (top * kTrackAir);
  for (const TrackCurve& curve : curves) add_track_curve(curve, per_byte);
  add_track_words(curves.back());
  add_track_limit(curves.back(), per_byte);
}

void ChartListBuilder::add_track_curve(const TrackCurve& curve, double per_byte) {
  const Box& box = layout_.memory;
  const RunModel& run = *curve.block->run;
  const auto& extents = list_.kept_extents.of(
      {run.id, curve.rank.value(), kTrackLane}, [&](TimeRange range, int bins, Extent* out) {
        run.memory_track->extents(curve.rank.at(), range, {out, static_cast<std::size_t>(bins)});
      });
  const Rgba colour = rgba(run_colour(session_, curve.block->index));
  const double thick = std::round(1.5 * scale_);
  const auto height_of = [&](Bytes held) {
    return std::max(std::round(box.y1 - run.memory->in_bytes(held) * per_byte), box.y0);
  };
  for (std::size_t i = 0; i < extents.size();) {
    const Extent extent = extents[i];
    std::size_t end = i + 1;
    while (end < extents.size() && extents[end] == extent) ++end;
    const double x0 = box.x0 + static_cast<double>(i);
    const double x1 = std::min(box.x0 + static_cast<double>(end), box.x1);
    i = end;
    if (extent.most <= 0) continue;
    const double high = std::min(height_of(extent.most), box.y1 - thick);
    const double low = std::max(std::min(height_of(extent.least), box.y1), high + thick);
    if (curve.active) quad(list_.quads, {x0, low, x1, box.y1}, see_through(colour, 0x1C));
    quad(list_.quads, {x0, high, x1, low}, colour);
  }
}

/// Adds on the left the rank's name, in the track the bytes held at the pointer.
void ChartListBuilder::add_track_words(const TrackCurve& curve) {
  const Box& box = layout_.memory;
  const RunModel& run = *curve.block->run;
  const double x = layout_.headers.x0 + 8 * scale_;
  const double y = (box.y0 + box.y1) / 2 - fonts_.small.height;
  label(list_.labels, x, y, "memory", ink_.muted);
  label(list_.labels, x, y + fonts_.small.height, draw::rank_label(curve.rank), ink_.muted);
  const std::optional<double> time = session_.part<PointerPart>().time;
  if (!time) return;
  Extent held;
  const double at = std::floor(*time);
  run.memory_track->extents(curve.rank.at(), {at, at + 1}, {&held, 1});
  const std::string text = held_text(*run.memory, held.most);
  const double width = fonts_.small.width(text);
  const double pointer = layout_.x_of(*time);
  const double right = pointer + 6 * scale_;
  const double left = right + width < box.x1 ? right : pointer - 6 * scale_ - width;
  if (left < box.x0) return;
  const double foot = box.y1 - fonts_.small.height - 2 * scale_;
  quad(list_.front, {left - 3 * scale_, foot, left + width + 3 * scale_, box.y1}, ink_.row);
  label(list_.front_labels, left, foot, text, ink_.text);
}

void ChartListBuilder::add_track_limit(const TrackCurve& curve, double per_byte) {
  const Box& box = layout_.memory;
  const MemoryModel& memory = *curve.block->run->memory;
  const auto limit = memory.limit_of(curve.rank);
  const double y = limit ? std::round(box.y1 - memory.in_bytes(*limit) * per_byte) : box.y0;
  if (y < box.y0) return;
  const auto peak = static_cast<Bytes>(curve.block->run->memory_track->peak());
  const std::string text = limit ? "limit " + held_text(memory, *limit) : "peak " + held_text(memory, peak);
  const double width = fonts_.small.width(text);
  const double below =
      y + 3 * scale_ + fonts_.small.height <= box.y1 ? y + 3 * scale_ : y - fonts_.small.height;
  const double left = box.x1 - width - 6 * scale_;
  // The curve does not run through the words.
  quad(list_.quads, {left - 3 * scale_, below, left + width + 3 * scale_, below + fonts_.small.height},
       ink_.row);
  label(list_.labels, left, below, text, ink_.muted);
  if (!limit) return;
  const double dash = 4 * scale_;
  for (double x = box.x0; x < box.x1; x += 2 * dash)
    quad(list_.quads, {x, y, std::min(x + dash, box.x1), y + 1}, ink_.memory_limit);
}

}  // namespace pipeloom::gui
