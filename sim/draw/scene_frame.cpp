// The parts around the ops (title, legend, axis, rank labels), and those that can be switched on: causes of idle time, critical path, memory.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <pipeloom/metrics.hpp>
#include "sim/analysis/critical_path.hpp"
#include "sim/analysis/idle_causes.hpp"
#include "sim/draw/axis.hpp"
#include "sim/draw/scene_builder.hpp"
#include "sim/draw/tokens.hpp"
#include "sim/kinds.hpp"
#include "sim/memory.hpp"

namespace pipeloom::draw {
namespace {

constexpr double kSwatchHeight = 10;
constexpr double kSwatchGap = 5;
constexpr double kItemGap = 16;
constexpr double kTickGap = 34;
constexpr int kRampSwatches = 24;
constexpr double kRampSwatchWidth = 4;
constexpr int kMostSingleSwatches = 8;

double item_width(const LegendItem& item, double size) {
  const double swatches = item.swatch_width * static_cast<double>(item.swatches.size());
  return swatches + (item.swatches.empty() ? 0 : kSwatchGap) + text_width(item.text, size);
}

}  // namespace

void SceneBuilder::add_kind_items(std::vector<LegendItem>& items) const {
  const Placement& placement = timeline_.schedule->placement();
  const int shades = colours_.shades();
  for (const OpKind kind : kAllOpKinds) {
    if (!timeline_.schedule->contains(kind)) continue;
    LegendItem item{{}, kind_label(kind), pattern_of(kind)};
    for (int shade = 0; shade < std::min(shades, 4); ++shade) {
      item.swatches.push_back(kind_colour(options_.theme, kind, shade, shades, options_.palette));
    }
    items.push_back(std::move(item));
  }
  if (shades <= 1) return;
  const bool directions = placement.replicas() > 1 && shades == placement.replicas();
  std::string words = directions ? "Shades: direction 0" : "Shades: chunk 0";
  for (int shade = 1; shade < std::min(shades, 4); ++shade) words += fmt::format(", {}", shade);
  if (shades > 4) words += " and so on, repeating";
  items.push_back({{}, std::move(words)});
}

void SceneBuilder::add_series_items(std::vector<LegendItem>& items) const {
  const int count = colours_.series_length();
  const auto colour_of = [&](int index) {
    return series_colour(options_.theme, index, count, OpKind::Forward, options_.palette);
  };
  std::string name(name_of(options_.colour_by));
  name.front() = static_cast<char>(name.front() - 'a' + 'A');
  if (count <= kMostSingleSwatches) {
    for (int i = 0; i < count; ++i) {
      items.push_back({{colour_of(i)}, fmt::format("{} {}", name, i)});
    }
  } else {
    LegendItem ramp{{}, fmt::format("{} 0 to {}", name, count - 1)};
    for (int i = 0; i < kRampSwatches; ++i) {
      ramp.swatches.push_back(colour_of((count - 1) * i / (kRampSwatches - 1)));
    }
    ramp.swatch_width = kRampSwatchWidth;
    items.push_back(std::move(ramp));
  }
  const Schedule& schedule = *timeline_.schedule;
  if (schedule.contains(OpKind::Backward) || schedule.contains(OpKind::BackwardInput)) {
    items.push_back({{},
                     schedule.contains(OpKind::BackwardWeight)
                         ? "Full colour: forward, paler: backward, palest: weight gradient"
                         : "Full colour: forward, paler: backward"});
  }
}

void SceneBuilder::add_own_items(std::vector<LegendItem>& items) const {
  for (const OwnColours::LegendEntry& entry : options_.own->legend) {
    LegendItem item{entry.swatches, entry.text};
    if (entry.swatches.size() > 1) item.swatch_width = kRampSwatchWidth;
    items.push_back(std::move(item));
  }
}

void SceneBuilder::add_overlay_items(std::vector<LegendItem>& items) const {
  using Look = LegendItem::Look;
  if (options_.show_idle_causes) {
    CauseSums sum;
    for (const IdleCauses& one : idle_causes(timeline_, *options_.costs)) sum += one;
    for (std::size_t i = 0; i < kIdleCauses; ++i) {
      const auto cause = static_cast<IdleCause>(i);
      if (sum.of(cause) == 0) continue;
      items.push_back({{idle_colour(options_.theme, cause, options_.palette)}, idle_label(cause)});
    }
  }
  if (options_.show_critical_path) {
    items.push_back({{surface_.critical}, kCriticalPathLabel, Pattern::None, Look::Outline});
  }
  if (shows_memory()) {
    items.push_back({{surface_.memory_fill}, options_.memory ? "Memory" : "Live activations"});
    if (options_.memory && !options_.memory->limit.empty()) {
      items.push_back({{surface_.memory_limit},
                       fmt::format("Limit {}", limit_text(options_.memory->limit)),
                       Pattern::None,
                       Look::Dashed,
                       18});
    }
  }
}

std::vector<LegendItem> SceneBuilder::legend_items() const {
  std::vector<LegendItem> items;
  if (!options_.show_legend) return items;
  if (options_.own != nullptr && !options_.own->legend.empty()) {
    add_own_items(items);
  } else if (options_.colour_by == ColourBy::Kind) {
    add_kind_items(items);
  } else {
    add_series_items(items);
  }
  add_overlay_items(items);
  return items;
}

void SceneBuilder::place_legend() {
  double x = scene_.time.x;
  legend_places_.clear();
  legend_lines_ = 0;
  for (const LegendItem& item : legend_) {
    const double width = item_width(item, measure_.legend_size);
    const bool fits = x + width <= scene_.time.x + scene_.time.width;
    if (legend_lines_ == 0 || (!fits && x > scene_.time.x)) {
      ++legend_lines_;
      x = scene_.time.x;
    }
    legend_places_.emplace_back(x, legend_lines_ - 1);
    x += width + kItemGap;
  }
}

void SceneBuilder::add_legend() {
  const double top = measure_.margin + (options_.title.empty() ? 0 : measure_.title_size + 8);
  for (std::size_t i = 0; i < legend_.size(); ++i) {
    const LegendItem& item = legend_[i];
    const auto [x, line] = legend_places_[i];
    const double baseline = top + line * measure_.legend_line + measure_.legend_size;
    add_swatches(item, x, baseline);
    const double after =
        x + item_width(item, measure_.legend_size) - text_width(item.text, measure_.legend_size);
    text(after, baseline, measure_.legend_size, item.text,
         item.swatches.empty() ? surface_.muted : surface_.text, Align::Start, Role::Legend);
  }
}

void SceneBuilder::add_swatches(const LegendItem& item, double x, double baseline) {
  const double y = baseline - 0.36 * measure_.legend_size - kSwatchHeight / 2;
  for (std::size_t i = 0; i < item.swatches.size(); ++i, x += item.swatch_width) {
    if (item.look == LegendItem::Look::Dashed) {
      scene_.shapes.emplace_back(Line{x, y + kSwatchHeight / 2, x + item.swatch_width, y + kSwatchHeight / 2,
                                      item.swatches[i], 1.2, true, Role::Legend});
      continue;
    }
    Rectangle box{.x = x,
                  .y = y,
                  .width = item.swatch_width,
                  .height = kSwatchHeight,
                  .fill = {},
                  .stroke = {},
                  .pattern = item.pattern,
                  .role = Role::Legend};
    if (item.look == LegendItem::Look::Outline) {
      box.stroke = item.swatches[i];
      box.stroke_width = 1.6;
    } else {
      box.fill = item.swatches[i];
    }
    scene_.shapes.emplace_back(box);
  }
}

void SceneBuilder::add_title_text() {
  if (options_.title.empty()) return;
  text(scene_.time.x, measure_.margin + 0.8 * measure_.title_size, measure_.title_size, options_.title,
       surface_.text, Align::Start, Role::Title, true);
  constexpr double kBolder = 1.1;
  add_results(scene_.time.x + kBolder * text_width(options_.title, measure_.title_size) + kItemGap);
}

/// Adds as many results as there is room for after the title, which ends at `from`.
void SceneBuilder::add_results(double from) {
  const double right = scene_.time.x + scene_.time.width;
  std::string words;
  for (const std::string& result : options_.results) {
    const std::string longer = words.empty() ? result : words + " \u00b7 " + result;
    if (from + text_width(longer, measure_.label_size) > right) break;
    words = longer;
  }
  if (words.empty()) return;
  text(right, measure_.margin + 0.8 * measure_.title_size, measure_.label_size, std::move(words),
       surface_.muted, Align::End, Role::Title);
}

void SceneBuilder::add_marked_times() {
  const Colour accent = tokens_of(options_.theme).accent;
  const auto line = [&](Ticks time, bool dashed, Role role) {
    if (time < scene_.time.range.start || time > scene_.time.range.end) return;
    const double x = scene_.time.x_of(time);
    scene_.shapes.emplace_back(Line{x, measure_.plot_top, x, plot_bottom(), accent, 1, dashed, role});
  };
  for (const Ticks mark : options_.marks) line(mark, true, Role::Mark);
  if (options_.cursor) line(*options_.cursor, false, Role::Cursor);
}

void SceneBuilder::add_grid() {
  for (const AxisTick& tick : axis_ticks().ticks) {
    const double x = scene_.time.x_of(tick.time);
    scene_.shapes.emplace_back(
        Line{x, measure_.plot_top, x, plot_bottom(), surface_.grid, 0.75, false, Role::Grid});
  }
}

TimeAxis SceneBuilder::axis_ticks() const {
  return fitted_time_axis(scene_.time.range, timeline_.unit, scene_.time.width, kTickGap,
                          [&](const std::string& label) { return text_width(label, measure_.axis_size); });
}

void SceneBuilder::add_axis() {
  const double y = plot_bottom() + 2;
  const double x = scene_.time.x;
  scene_.shapes.emplace_back(Line{x, y, x + scene_.time.width, y, surface_.axis, 1, false, Role::Axis});
  double baseline = y;
  if (options_.show_axis) {
    const TimeAxis axis = axis_ticks();
    const double labels = y + 6 + measure_.axis_size * 0.8;
    for (const AxisTick& tick : axis.ticks) {
      const double at = scene_.time.x_of(tick.time);
      scene_.shapes.emplace_back(Line{at, y, at, y + 4, surface_.axis, 1, false, Role::Axis});
      text(at, labels, measure_.axis_size, tick.label, surface_.text, Align::Middle, Role::Axis);
    }
    baseline = labels + measure_.label_size + 5;
    text(x + scene_.time.width / 2, baseline, measure_.label_size, axis_title(axis.unit), surface_.text,
         Align::Middle, Role::Axis);
  }
  for (const std::string& caption : captions_) {
    baseline += measure_.caption_size + 8;
    text(x, baseline, measure_.caption_size, caption, surface_.muted, Align::Start, Role::Label);
  }
}

void SceneBuilder::add_rank_labels() {
  for (const Row& row : scene_.rows) {
    const double pitch = is_folded(row) ? measure_.folded_pitch : measure_.row_pitch;
    const double size = std::min(measure_.label_size, std::max(8.0, pitch * 0.8));
    if (rank_rows_.is_named(row, pitch, size))
      text(scene_.time.x - 8, row.y + row.height / 2 + 0.36 * size, size, rank_label(row.first),
           surface_.text, Align::End, Role::Label);
  }
}

// Causes of idle time, critical path, memory.

void SceneBuilder::add_idle_causes() {
  for (const Row& row : scene_.rows) {
    if (row.is_shared()) continue;
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
  const auto add = [&](Rank rank) {
    memory_.emplace_back();
    for (int step = 0; step < timeline_.steps; ++step) {
      const auto one = memory_curve(timeline_, model, rank, step);
      memory_.back().insert(memory_.back().end(), one.begin(), one.end());
    }
  };
  for (const int rank : options_.ranks) add(Rank(rank));
  for (Rank rank = first_rank_; options_.ranks.empty() && rank < last_rank_; ++rank) add(rank);
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
    if (is_folded(row)) continue;
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
  return "peak " + (options_.memory ? memory_cell(*options_.memory, peak) : std::to_string(peak));
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
