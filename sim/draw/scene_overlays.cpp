// What can be switched on: causes of idle time, critical path, memory.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <pipeloom/metrics.hpp>
#include "sim/analysis/critical_path.hpp"
#include "sim/analysis/idle_causes.hpp"
#include "sim/base/number_text.hpp"
#include "sim/draw/axis.hpp"
#include "sim/draw/scene_builder.hpp"
#include "sim/kinds.hpp"
#include "sim/memory.hpp"

namespace pipeloom::draw {

void SceneBuilder::add_idle_causes() {
  for (const Row& row : scene_.rows) {
    if (row.last != row.first + 1) continue;
    double drawn_to = scene_.time.x;
    const auto spans = options_.idle != nullptr ? (*options_.idle)[row.first.at()]
                                                : idle_spans(timeline_, *options_.costs, row.first);
    for (const IdleSpan& span : spans) {
      const double x = clipped_x(span.start);
      const double end = clipped_x(span.end);
      // One shape per pixel at most; a gap narrower than a pixel still gets one.
      if (end <= x || end <= drawn_to) continue;
      drawn_to = std::max(end, x + 1);
      scene_.shapes.emplace_back(Rectangle{.x = x,
                                           .y = row.y,
                                           .width = end - x,
                                           .height = row.height,
                                           .fill = idle_colour(options_.theme, span.cause, options_.palette),
                                           .stroke = {},
                                           .role = Role::Idle});
    }
  }
}

void SceneBuilder::add_critical_path() {
  constexpr double kStroke = 1.6;
  const Row* last_row = nullptr;
  double last_x = 0;
  const auto entries =
      options_.critical != nullptr ? *options_.critical : critical_path(timeline_, *options_.costs).entries;
  for (const std::size_t op : entries) {
    const Row* const row = row_of(timeline_.schedule->rank_of_op(op));
    const double x = clipped_x(timeline_.start_of(op));
    const double end = clipped_x(timeline_.end_of(op));
    if (row == nullptr || end <= x) continue;
    if (last_row != nullptr && last_row != row && x - last_x < 40) {
      scene_.shapes.emplace_back(Line{last_x, last_row->y + last_row->height / 2, x, row->y + row->height / 2,
                                      surface_.critical, kStroke, false, Role::Critical});
    }
    // Narrow entries join into one outline per pixel.
    if (last_row != row || end - last_x >= 1 || last_x == 0) {
      const double inset = std::min(kStroke / 2, (end - x) / 4);
      scene_.shapes.emplace_back(Rectangle{.x = x + inset,
                                           .y = row->y + kStroke / 2,
                                           .width = end - x - 2 * inset,
                                           .height = row->height - kStroke,
                                           .fill = {},
                                           .stroke = surface_.critical,
                                           .stroke_width = std::min(kStroke, 2 * inset),
                                           .role = Role::Critical});
      last_x = end;
    }
    last_row = row;
  }
}

void SceneBuilder::measure_memory_curves() {
  const MemoryModel model =
      options_.memory ? *options_.memory : default_memory(timeline_.schedule->placement());
  for (Rank rank = first_rank_; rank < last_rank_; ++rank) {
    memory_.emplace_back();
    for (int step = 0; step < timeline_.steps; ++step) {
      const auto one = memory_curve(timeline_, model, rank, step);
      memory_.back().insert(memory_.back().end(), one.begin(), one.end());
    }
  }
}

void SceneBuilder::add_memory() {
  Bytes top = 1;
  if (options_.memory)
    for (const Bytes limit : options_.memory->limit) top = std::max(top, limit);
  for (const auto& curve : memory_) {
    for (const MemoryStep& step : curve) top = std::max(top, step.bytes);
  }
  // One scale for all ranks, so that heights can be compared.
  const double bytes_per_pixel = static_cast<double>(top) / (measure_.memory_height - 2);
  for (std::size_t i = 0; i < scene_.rows.size(); ++i) {
    const Row& row = scene_.rows[i];
    add_memory_strip(row, memory_[i], bytes_per_pixel);
    const auto limit = options_.memory ? options_.memory->limit_of(row.first) : std::nullopt;
    if (limit) {
      const double y = row.memory_y + row.memory_height - static_cast<double>(*limit) / bytes_per_pixel;
      scene_.shapes.emplace_back(Line{scene_.time.x, y, scene_.time.x + scene_.time.width, y,
                                      surface_.memory_limit, 1, true, Role::MemoryLimit});
    }
    add_memory_peak(row, memory_[i], bytes_per_pixel);
  }
}

void SceneBuilder::add_memory_strip(const Row& row, const std::vector<MemoryStep>& curve,
                                    double bytes_per_pixel) {
  const double base = row.memory_y + row.memory_height;
  const auto y_of = [&](Bytes bytes) { return base - static_cast<double>(bytes) / bytes_per_pixel; };
  std::vector<Point> points;
  double column = -1;  // points of one pixel column collapse to its lowest and highest
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const Ticks until = i + 1 < curve.size() ? curve[i + 1].time : scene_.time.range.end;
    if (until <= scene_.time.range.start || curve[i].time >= scene_.time.range.end) continue;
    const double x = clipped_x(curve[i].time);
    const double y = y_of(curve[i].bytes);
    if (points.size() >= 4 && std::floor(x * 2) == column) {
      double& last = points.back().y;
      double& before = points[points.size() - 2].y;
      before = std::min({before, last, y});
      last = y;
      continue;
    }
    column = std::floor(x * 2);
    if (!points.empty()) points.push_back({x, points.back().y});
    points.push_back({x, y});
  }
  if (points.empty()) return;
  points.push_back({clipped_x(scene_.time.range.end), points.back().y});
  std::vector<Point> area = points;
  area.push_back({area.back().x, base});
  area.push_back({area.front().x, base});
  scene_.shapes.emplace_back(Polyline{std::move(area), surface_.memory_fill, {}, 0, Role::MemoryArea});
  scene_.shapes.emplace_back(Polyline{std::move(points), {}, surface_.memory_line, 1, Role::MemoryLine});
}

std::string SceneBuilder::peak_label(const std::vector<MemoryStep>& curve) const {
  Bytes peak = 0;
  for (const MemoryStep& step : curve) peak = std::max(peak, step.bytes);
  return options_.memory ? "peak " + short_bytes_text(peak) : fmt::format("peak {}", peak);
}

void SceneBuilder::add_memory_peak(const Row& row, const std::vector<MemoryStep>& curve,
                                   double bytes_per_pixel) {
  if (curve.empty()) return;
  const auto peak = std::max_element(
      curve.begin(), curve.end(), [](const MemoryStep& a, const MemoryStep& b) { return a.bytes < b.bytes; });
  if (row.memory_height >= measure_.small_size) {
    text(scene_.time.x - 8, row.memory_y + row.memory_height / 2 + 0.36 * measure_.small_size,
         measure_.small_size, peak_label(curve), surface_.muted, Align::End, Role::MemoryPeak);
  }
  if (peak->time < scene_.time.range.start || peak->time >= scene_.time.range.end) return;
  // A small triangle whose tip points at where the peak is first reached.
  const double x = clipped_x(peak->time);
  const double y = row.memory_y + row.memory_height - static_cast<double>(peak->bytes) / bytes_per_pixel;
  const double below = std::min(y + 5, row.memory_y + row.memory_height + 2);  // above the next row
  scene_.shapes.emplace_back(
      Polyline{{{x, y}, {x - 3, below}, {x + 3, below}}, surface_.text, {}, 0, Role::MemoryPeak});
}

}  // namespace pipeloom::draw
