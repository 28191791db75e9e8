#include "sim/draw/scene_stack.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

namespace pipeloom::draw {
namespace {

void move_down(Shape& shape, double by, std::uint32_t titles) {
  if (auto* box = std::get_if<Rectangle>(&shape)) {
    box->y += by;
    if (box->title != kNoTitle) box->title += titles;
  } else if (auto* line = std::get_if<Line>(&shape)) {
    line->y1 += by;
    line->y2 += by;
  } else if (auto* text = std::get_if<Text>(&shape)) {
    text->y += by;
  } else if (auto* curve = std::get_if<Polyline>(&shape)) {
    for (Point& point : curve->points) point.y += by;
  }
}

/// Puts a scene below another.
void append(Scene& to, Scene scene) {
  const double by = to.height;
  const auto titles = static_cast<std::uint32_t>(to.titles.size());
  for (Shape& shape : scene.shapes) move_down(shape, by, titles);
  for (Row& row : scene.rows) {
    row.y += by;
    row.memory_y += by;
  }
  to.height += scene.height;
  std::move(scene.shapes.begin(), scene.shapes.end(), std::back_inserter(to.shapes));
  std::move(scene.rows.begin(), scene.rows.end(), std::back_inserter(to.rows));
  std::move(scene.titles.begin(), scene.titles.end(), std::back_inserter(to.titles));
}

/// The space that a run takes by itself.
struct Measured {
  double left = 0;
  double width = 0;
  double height = 0;
};

Measured measure(const StackedTimeline& run, const TimelineIndex& index) {
  SceneOptions options = run.options;
  options.height = 0;
  const Scene scene = build_scene(*run.timeline, index, options);
  return {scene.time.x, scene.width, scene.height};
}

}  // namespace

Scene build_stacked_scene(const std::vector<StackedTimeline>& runs) {
  if (runs.size() == 1) return build_scene(*runs.front().timeline, runs.front().options);
  std::deque<TimelineIndex> indices;
  std::vector<Measured> alone;
  Measured all;
  for (const StackedTimeline& run : runs) {
    indices.emplace_back(*run.timeline);
    alone.push_back(measure(run, indices.back()));
    all.left = std::max(all.left, alone.back().left);
    all.width = std::max(all.width, alone.back().width);
    all.height += alone.back().height;
  }
  Scene out;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    SceneOptions options = runs[i].options;
    options.width = all.width;
    options.left = all.left;
    options.height *= alone[i].height / all.height;
    Scene scene = build_scene(*runs[i].timeline, indices[i], options);
    if (i == 0)
      out = std::move(scene);
    else
      append(out, std::move(scene));
  }
  return out;
}

}  // namespace pipeloom::draw
