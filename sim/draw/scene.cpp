#include "sim/draw/scene.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/draw/scene_builder.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::draw {

double text_width(std::string_view text, double size) {
  // Advances of DejaVu Sans, the widest of the faces that the writers ask for.
  double width = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0U) == 0x80U) continue;  // inside a UTF-8 sequence
    if (c == 'm' || c == 'w' || c == 'M' || c == 'W') {
      width += 0.98;
    } else if (c == 'i' || c == 'l' || c == 'j' || c == 'I' || c == ' ' || c == '.' || c == ',' ||
               c == '\'') {
      width += 0.32;
    } else if (c == 'f' || c == 't' || c == 'r' || c == '(' || c == ')') {
      width += 0.41;
    } else {
      width += 0.64;
    }
  }
  return width * size;
}

SceneBuilder::SceneBuilder(const Timeline& timeline, const TimelineIndex& index, const SceneOptions& options)
    : timeline_(timeline),
      index_(index),
      options_(options),
      surface_(surface_of(options.theme)),
      colours_(*timeline.schedule, options.theme, options.colour_by, options.palette) {
  if ((options.show_idle_causes || options.show_critical_path) && options.costs == nullptr) {
    throw InternalError("a picture with idle causes or critical path needs costs");
  }
  if (timeline.schedule->has_copies()) copies_.emplace(timeline, Lane::Copies);
}

Scene SceneBuilder::build() && {
  scene_.theme = options_.theme;
  choose_ranks();
  choose_range();
  if (options_.show_memory) measure_memory_curves();
  for (std::size_t at = 0; at < options_.caption.size();) {
    const std::size_t end = std::min(options_.caption.find('\n', at), options_.caption.size());
    captions_.push_back(options_.caption.substr(at, end - at));
    at = end + 1;
  }
  lay_out();
  if (shows_memory() && measure_.memory_height <= 0) {
    leave_memory_out();
    lay_out();
  }
  scene_.shapes.emplace_back(Rectangle{.width = scene_.width,
                                       .height = scene_.height,
                                       .fill = surface_.background,
                                       .stroke = {},
                                       .role = Role::Background});
  add_title_text();
  add_legend();
  add_row_grounds();
  if (options_.show_idle_causes) add_idle_causes();
  add_grid();
  collect_marks();
  add_ops();
  if (options_.show_critical_path) add_critical_path();
  if (shows_memory()) add_memory();
  add_marked_times();
  add_rank_labels();
  add_axis();
  return std::move(scene_);
}

void SceneBuilder::text(double x, double y, double size, std::string words, Colour colour, Align align,
                        Role role, bool bold) {
  scene_.shapes.emplace_back(Text{x, y, size, std::move(words), colour, align, bold, role});
}

Scene build_scene(const Timeline& timeline, const SceneOptions& options) {
  const TimelineIndex index(timeline);
  return build_scene(timeline, index, options);
}

Scene build_scene(const Timeline& timeline, const TimelineIndex& index, const SceneOptions& options) {
  return SceneBuilder(timeline, index, options).build();
}

// Sizes, before anything is drawn.

namespace {

constexpr double kMinWidth = 480;
constexpr double kMaxWidth = 1600;
constexpr double kRightMargin = 16;
constexpr double kLabelGap = 8;
constexpr double kMemoryShare = 0.42;  // of a row's pitch
constexpr double kMaxRowHeight = 22;
constexpr double kMaxGroupRowHeight = 30;  // two halves, each with a number
constexpr double kAllRowsHeight = 620;     // above this, rows shrink ...
constexpr double kMinRowPitch = 5;         // ... down to this, then the picture grows ...
constexpr double kMaxRowsHeight = 5000;    // ... up to this, then ranks share rows
constexpr double kMinMemoryPitch = 26;     // the same with memory: above kMaxRowsHeight, curves are left out
constexpr double kMinMemoryHeight = 5;     // of a strip whose peak and limit can still be seen

}  // namespace

void SceneBuilder::choose_ranks() {
  last_rank_ = Rank(timeline_.schedule->ranks());
  if (options_.ranks.empty()) return;
  const auto [least, most] = std::ranges::minmax(options_.ranks);
  first_rank_ = Rank(least);
  last_rank_ = Rank(most + 1);
}

void SceneBuilder::choose_range() {
  Span range = options_.range.value_or(index_.span());
  if (options_.range && range.length() <= 0) {
    throw InputError(fmt::format("the visible range {} .. {} is empty; its end must lie after its start",
                                 format_ticks(range.start, timeline_.unit),
                                 format_ticks(range.end, timeline_.unit)));
  }
  if (range.length() <= 0) range.end = range.start + 1;  // a timeline without ops
  scene_.time.range = range;
}

void SceneBuilder::choose_width() {
  double labels = text_width(rank_label(last_rank_ - 1), measure_.label_size);
  for (const auto& curve : memory_)
    labels = std::max(labels, text_width(peak_label(curve), measure_.small_size));
  const double left = std::max(measure_.margin + labels + kLabelGap, options_.left);
  if (options_.width > 0) {
    scene_.width = options_.width;
  } else {
    const double cell =
        std::max(18.0, text_width(widest_label(labels_have_letters()), measure_.axis_size) + 5);
    const double cells =
        static_cast<double>(scene_.time.range.length()) / static_cast<double>(index_.shortest());
    scene_.width = std::ceil(std::clamp(left + kRightMargin + cells * cell, kMinWidth, kMaxWidth));
  }
  scene_.time.x = left;
  scene_.time.width = scene_.width - left - kRightMargin;
  if (scene_.time.width < 40 || scene_.width < 120) {
    throw InputError(
        fmt::format("a picture {} pixels wide has no room beside the rank labels; take at least {}",
                    std::lround(scene_.width), std::max(120L, std::lround(left + 56))));
  }
}

void SceneBuilder::lay_out() {
  choose_width();
  legend_ = legend_items();
  place_legend();
  choose_rows();
}

void SceneBuilder::leave_memory_out() {
  memory_.clear();
  captions_.emplace_back("No room for memory curves of so many ranks");
}

double SceneBuilder::chosen_rows_height(int ranks) const {
  const double memory = shows_memory() ? 1 / (1 - kMemoryShare) : 1;
  const double largest =
      (timeline_.schedule->has_groups() ? kMaxGroupRowHeight : kMaxRowHeight) * 1.18 * memory;
  const double least = shows_memory() ? kMinMemoryPitch : kMinRowPitch;
  return std::min(std::clamp(kAllRowsHeight / ranks, least, largest) * ranks, kMaxRowsHeight);
}

void SceneBuilder::choose_rows() {
  Measures& m = measure_;
  m.plot_top = m.margin;
  if (!options_.title.empty()) m.plot_top += m.title_size + 8;
  m.plot_top += legend_lines_ * m.legend_line + (legend_lines_ > 0 ? 5 : 0);
  const int ranks = options_.ranks.empty() ? std::max(1, (last_rank_ - first_rank_.value()).value())
                                           : static_cast<int>(options_.ranks.size());
  double rows_height =
      options_.height > 0 ? options_.height - m.plot_top - frame_below() : chosen_rows_height(ranks);
  if (rows_height < 16) {
    throw InputError(fmt::format("a picture {} pixels high has no room for its rows; take at least {}",
                                 std::lround(options_.height),
                                 std::lround(options_.height + 17 - rows_height)));
  }
  rank_rows_ = RankRows(first_rank_, last_rank_, rows_height, options_.ranks);
  const int rows = rank_rows_.count();
  m.row_pitch = rows_height / rows;
  int folded = 0;
  for (int i = 0; i < rows; ++i) folded += is_folded(rank_rows_.row(i, 0, 0)) ? 1 : 0;
  // Of a height that was chosen the others take the rest that folded rows leave.
  if (folded > 0 && folded < rows && options_.height > 0)
    m.row_pitch = (rows_height - folded * m.folded_pitch) / (rows - folded);
  if (folded > 0 && options_.height <= 0) rows_height -= folded * (m.row_pitch - m.folded_pitch);
  const double used = m.row_pitch - (m.row_pitch < 4 ? 0 : std::min(5.0, m.row_pitch * 0.16));
  const bool has_strips = shows_memory() && used * kMemoryShare >= kMinMemoryHeight &&
                          (options_.height > 0 || m.row_pitch >= kMinMemoryPitch);
  m.memory_height = has_strips ? used * kMemoryShare : 0;
  m.row_height = used - m.memory_height - (m.memory_height > 0 ? 1 : 0);
  scene_.rows.clear();
  double y = m.plot_top;
  for (int i = 0; i < rows; ++i) {
    Row& row = scene_.rows.emplace_back(rank_rows_.row(i, y, m.row_height));
    const bool is_low = is_folded(row);
    if (is_low) row.height = m.folded_height;
    row.memory_y = row.y + row.height + 1;
    row.memory_height = is_low ? 0 : m.memory_height;
    y += is_low ? m.folded_pitch : m.row_pitch;
  }
  scene_.height = options_.height > 0 ? options_.height : std::ceil(m.plot_top + rows_height + frame_below());
}

bool SceneBuilder::is_folded(const Row& row) const {
  return !row.is_shared() && measure_.row_pitch > measure_.folded_pitch &&
         options_.folded.contains(row.first.value());
}

double SceneBuilder::frame_below() const {
  const double captions = static_cast<double>(captions_.size()) * (measure_.caption_size + 8);
  const double axis = options_.show_axis ? measure_.axis_size + 5 + measure_.label_size : 0;
  return 4 + axis + captions + measure_.margin;
}

double SceneBuilder::plot_bottom() const {
  const Row& last = scene_.rows.back();
  return last.memory_height > 0 ? last.memory_y + last.memory_height : last.y + last.height;
}

double SceneBuilder::clipped_x(Ticks time) const {
  return scene_.time.x_of(std::clamp(time, scene_.time.range.start, scene_.time.range.end));
}

const Row* SceneBuilder::row_of(Rank rank) const {
  if (rank < first_rank_ || rank >= last_rank_) return nullptr;
  const std::size_t row = rank_rows_.row_of(rank);
  return row < scene_.rows.size() ? &scene_.rows[row] : nullptr;
}

}  // namespace pipeloom::draw
