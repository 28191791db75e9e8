// Ops that are wide enough to be boxes.

#include <algorithm>
#include <charconv>
#include <cmath>

#include "gui/model/draw/chart_builder.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui {

bool ChartListBuilder::is_dense(const RowLane& lane, Lane which) const {
  const OpTrack& index = *lane.run->op_track;
  const std::size_t limit = 2 * static_cast<std::size_t>(columns_);
  const StepSlice steps = index.steps(lane.row->rank, from_, to_, which);
  if (steps.last - steps.first > columns_) return true;
  std::size_t count = 0;
  for (int step = steps.first; step < steps.last && count <= limit; ++step)
    count += index.visible(lane.row->rank, from_, to_, step, which).size();
  return count > limit;
}

void ChartListBuilder::add_ops(RowLane& lane, Lane which) {
  if (!lane.run->op_track) return;
  const std::size_t first_quad = list_.quads.size();
  const bool gaps = which == Lane::Work && session_.view.show_idle;
  if (is_dense(lane, which)) {
    const Rgba* const texels = add_dense(lane, which, first_quad);
    if (gaps) add_dense_gaps(lane, texels);
    return;
  }
  bool narrow = false;
  lane.run->op_track->for_each_visible(lane.row->rank, from_, to_, which,
                                       [&](std::size_t op) { narrow = !add_op(lane, op) || narrow; });
  if (narrow) add_dense(lane, which, first_quad);
  if (gaps) add_gaps(lane);
}

bool ChartListBuilder::is_left_out(const RowLane& lane, std::size_t op) const {
  if (lane.matches != nullptr) return !std::binary_search(lane.matches->begin(), lane.matches->end(), op);
  if (!session_.selection.kind) return false;
  const auto ops = lane.run->schedule->ops();
  return ops[op % ops.size()].kind() != *session_.selection.kind;
}

const OpPaint& ChartListBuilder::paint_of(const RowLane& lane, std::size_t op) const {
  const ChartColours& colours = *lane.colours;
  if (is_left_out(lane, op)) return colours.dimmed();
  const auto ops = lane.run->schedule->ops();
  const std::size_t index = op % ops.size();
  if (colours.is_hidden(ops[index].kind())) return colours.dimmed();
  if (lane.tint != nullptr && op < lane.tint->size()) return colours.of_tint((*lane.tint)[op]);
  if (lane.slack != nullptr && index < lane.slack->size()) return colours.of_slack((*lane.slack)[index]);
  return colours.of(ops[index]);
}

/// Between neighbours that touch stands a line; a gap too short for a pixel is a hole of one.
void ChartListBuilder::add_edge(RowLane& lane, Ticks start, float x) {
  if (lane.end < 0 || x > lane.x1) return;
  const Rgba colour = start > lane.end ? ink_.row : lane.edge;
  quad(list_.quads, {lane.x1 - 1.0, lane.clip.y0, lane.x1, lane.clip.y1}, colour);
}

bool ChartListBuilder::add_op(RowLane& lane, std::size_t op) {
  const Timeline& timeline = lane.run->timeline;
  const double x0 = layout_.plot.x0 + (static_cast<double>(timeline.start[op]) - from_) * pixels_per_tick_;
  const double x1 = layout_.plot.x0 + (static_cast<double>(timeline.end[op]) - from_) * pixels_per_tick_;
  if (x1 - x0 < kNarrow) return false;
  const auto ops = lane.run->schedule->ops();
  const Op drawn = ops[op % ops.size()];
  const tracks::DrawnGroup group = tracks::group_of(timeline, op);
  Box box{std::max(std::round(x0), lane.clip.x0), lane.clip.y0, std::min(std::round(x1), lane.clip.x1),
          lane.clip.y1};
  if (group.last - group.first > 1) {
    const Strip part = part_of(lane.strip, op - group.first, group.last - group.first);
    box.y0 = std::max(box.y0, part.y);
    box.y1 = std::min(box.y1, part.bottom());
  }
  const OpPaint& paint = paint_of(lane, op);
  if (op == group.first) add_edge(lane, timeline.start[op], static_cast<float>(box.x0));
  if (box.empty()) return true;
  quad(list_.quads, box, paint.fill);
  lane.end = timeline.end[op];
  lane.x1 = static_cast<float>(box.x1);
  lane.edge = paint.edge;
  const ChartQuad drawn_quad = list_.quads.back();
  if (session_.preferences.hatching) add_hatching(drawn_quad, drawn.kind(), paint.text);
  if (lane.labels && &paint != &lane.colours->dimmed()) add_op_label(lane, box, drawn, paint.text);
  if (hovered_ && drawn.microbatch() == *hovered_)
    list_.outlines.push_back({drawn_quad.x0, drawn_quad.y0, drawn_quad.x1, drawn_quad.y1, ink_.text, 1});
  return true;
}

void ChartListBuilder::add_op_label(const RowLane& lane, const Box& box, Op op, Rgba colour) {
  char text[24];
  char* end = text;
  if (lane.letters) *end++ = letter_of(op.kind());
  end = std::to_chars(end, text + sizeof text, op.microbatch().value()).ptr;
  if (op.is_sliced()) {
    *end++ = '.';
    end = std::to_chars(end, text + sizeof text, op.slice()).ptr;
  }
  label_inside(box, {text, static_cast<std::size_t>(end - text)}, colour);
}

void ChartListBuilder::add_hatching(const ChartQuad& box, OpKind kind, Rgba text) {
  // As in exported pictures, with level lines for dots.
  const Pattern pattern = row_of(kind).pattern;
  const auto step = static_cast<float>(6 * scale_);
  const float height = box.y1 - box.y0;
  if (pattern == Pattern::None || height < 5 || box.x1 - box.x0 < 4) return;
  // Away from the label, so that its contrast only grows.
  const bool white = (text & 0xFFU) > 0x7FU;
  const Rgba colour = white ? rgba(0, 0, 0, 84) : rgba(255, 255, 255, 110);
  if (pattern == Pattern::Dotted) {
    for (float y = box.y0 + step / 2; y < box.y1; y += step / 2)
      list_.quads.push_back({box.x0, y, box.x1, y + 1, colour});
    return;
  }
  // Lines start at multiples of the step, so that those of neighbours meet; each is cut where it leaves the box.
  for (float at = std::floor((box.x0 - height) / step) * step; at < box.x1; at += step) {
    const float cut = std::max(0.0F, box.x0 - at);
    const float past = std::max(0.0F, at + height - box.x1);
    if (cut + past >= height) continue;
    const float x0 = at + cut;
    const float x1 = at + height - past;
    if (pattern == Pattern::Rising)
      list_.lines.push_back({x0, box.y1 - cut, x1, box.y0 + past, colour, 1});
    else
      list_.lines.push_back({x0, box.y0 + cut, x1, box.y1 - past, colour, 1});
  }
}

}  // namespace pipeloom::gui
