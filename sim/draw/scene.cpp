#include "sim/draw/scene.hpp"

#include <algorithm>
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
  if (!options_.caption.empty()) captions_.push_back(options_.caption);
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

}  // namespace pipeloom::draw
