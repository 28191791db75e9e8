// Rulers, and the headings of runs.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gui/model/draw/chart_builder.hpp"
#include "sim/draw/axis.hpp"
#include "study/compare/compare.hpp"

namespace pipeloom::gui {

/// Marks in a ruler, and lines from them through the stretches that it is the ruler of.
void ChartListBuilder::add_axis(const Box& ruler, TimeUnit unit, const std::vector<Strip>& through) {
  const auto start = static_cast<Ticks>(std::floor(from_));
  const Span span{start, std::max(start + 1, static_cast<Ticks>(std::ceil(to_)))};
  const ChartFont& font = fonts_.small;
  const draw::TimeAxis axis =
      draw::fitted_time_axis(span, unit, layout_.plot.width(), 36 * scale_,
                             [&](const std::string& text) { return static_cast<double>(font.width(text)); });
  const double y = ruler.y1 - 5 * scale_ - font.height;
  for (const draw::AxisTick& tick : axis.ticks) {
    const double x = std::round(layout_.x_of(static_cast<double>(tick.time)));
    if (x < layout_.plot.x0 || x >= layout_.plot.x1) continue;
    quad(list_.ground, {x, ruler.y1 - 4 * scale_, x + 1, ruler.y1}, ink_.grid);
    for (const Strip& strip : through) quad(list_.ground, {x, strip.y, x + 1, strip.bottom()}, ink_.grid);
    const double width = font.width(tick.label);
    const double left = std::clamp(x - width / 2, ruler.x0, std::max(ruler.x0, ruler.x1 - width));
    label(list_.labels, left, y, tick.label, ink_.muted);
  }
  const std::string title = draw::axis_title(axis.unit);
  label(list_.labels, layout_.headers.x0 + 6 * scale_, y, title.substr(title.find('(')), ink_.muted);
}

/// What of a block is in the body: from its title to the next.
Strip ChartListBuilder::body_of(std::size_t block) const {
  const bool last = block + 1 == layout_.blocks.size();
  const double from = std::max(layout_.blocks[block].title.y, layout_.body.y);
  const double to = last ? layout_.plot.y1 : std::min(layout_.blocks[block + 1].title.y, layout_.plot.y1);
  return {from, std::max(to - from, 0.0)};
}

void ChartListBuilder::add_rulers() {
  if (layout_.blocks.empty()) return;
  const bool shared = std::none_of(layout_.blocks.begin(), layout_.blocks.end(),
                                   [](const ChartBlock& block) { return block.ruler.height > 0; });
  std::vector<Strip> through;
  if (shared) through.push_back({layout_.plot.y0, layout_.plot.height()});
  for (std::size_t i = 0; i < layout_.blocks.size() && !shared; ++i)
    if (layout_.blocks[i].ruler.height == 0) through.push_back(body_of(i));
  add_axis(layout_.ruler, layout_.blocks.front().run->timeline.unit, through);
  for (std::size_t i = 0; i < layout_.blocks.size() && !shared; ++i) {
    const ChartBlock& block = layout_.blocks[i];
    if (block.ruler.height == 0 || block.ruler.y < layout_.body.y || block.ruler.bottom() > layout_.plot.y1)
      continue;
    const Strip below{block.ruler.bottom(), std::max(body_of(i).bottom() - block.ruler.bottom(), 0.0)};
    add_axis({layout_.ruler.x0, block.ruler.y, layout_.ruler.x1, block.ruler.bottom()},
             block.run->timeline.unit, {below});
  }
}

/// A run under a ruler of its own says why.
std::string ChartListBuilder::title_of(const ChartBlock& block) const {
  if (block.ruler.height == 0) return block.run->title;
  return block.run->title + ": " +
         study::clock_difference(layout_.blocks.front().run->timeline, block.run->timeline);
}

void ChartListBuilder::add_titles() {
  for (const ChartBlock& block : layout_.blocks) {
    Box box{layout_.headers.x0, std::max(block.title.y, layout_.body.y), layout_.plot.x1,
            std::min(block.title.bottom(), layout_.plot.y1)};
    if (box.empty()) continue;
    quad(list_.ground, box, ink_.background);
    const double y = block.title.y + (block.title.height - fonts_.normal.height) / 2;
    if (y < layout_.body.y || y + fonts_.normal.height > layout_.plot.y1) continue;
    const bool active = block.index == session_.active;
    if (active)
      quad(list_.ground, {box.x0, box.y0 + 3 * scale_, box.x0 + 3 * scale_, box.y1 - 3 * scale_},
           ink_.accent);
    label(list_.labels, box.x0 + 8 * scale_, y, title_of(block), active ? ink_.text : ink_.muted,
          ChartFace::Normal);
  }
}

}  // namespace pipeloom::gui
