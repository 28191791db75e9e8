// Shapes on top of the ops.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <pipeloom/schedule.hpp>
#include "gui/model/chart/chart_words.hpp"
#include "gui/model/chart/op_walk.hpp"
#include "gui/model/draw/chart_builder.hpp"
#include "gui/model/edit/chart_pointer.hpp"
#include "gui/model/panels/compare_model.hpp"
#include "gui/model/run/waiting_ops.hpp"
#include "sim/kinds.hpp"
#include "sim/wait_graph.hpp"

namespace pipeloom::gui {
namespace {

ChartOutline outline_of(const Box& box, Rgba colour, double width) {
  return {static_cast<float>(box.x0),
          static_cast<float>(box.y0),
          static_cast<float>(box.x1),
          static_cast<float>(box.y1),
          colour,
          static_cast<float>(width)};
}

/// Height of a strip's middle, kept inside of where rows are drawn.
double middle_of(const ChartLayout& layout, const ChartRow& row) {
  const Strip& work = row.lane(ChartLane::Work);
  const double top = row.pinned ? layout.plot.y0 : layout.body.y;
  return std::clamp(work.y + work.height / 2, top, layout.plot.y1);
}

/// A stretch of time, once for each kind of unit on screen.
std::string length_text(const ChartLayout& layout, Ticks length) {
  std::string text = duration_text(length, layout.blocks.front().run->timeline.unit);
  const auto other = std::find_if(layout.blocks.begin(), layout.blocks.end(),
                                  [](const ChartBlock& block) { return block.ruler.height > 0; });
  if (other != layout.blocks.end()) text += " | " + duration_text(length, other->run->timeline.unit);
  return text;
}

}  // namespace

/// Outlines of boxes; where ops are narrower, a mark at the foot of the row, once per pixel.
void ChartListBuilder::add_critical(const ChartBlock& block) {
  const RunModel& run = *block.run;
  const auto& ops = run.critical();
  const auto start_of = [&](std::size_t op) { return static_cast<double>(run.timeline.start[op]); };
  const auto starts_before = [&](double time) {
    return [&, time](std::size_t op) { return start_of(op) < time; };
  };
  auto at = std::partition_point(ops.begin(), ops.end(), starts_before(from_));
  if (at != ops.begin()) --at;
  double last_end = -1;
  double last_y = -1;
  while (at != ops.end() && start_of(*at) < to_) {
    const ChartRow* const row = layout_.row_of(run.id, run.schedule->rank_of_op(*at));
    const double x0 = layout_.x_of(start_of(*at));
    const double x1 = layout_.x_of(static_cast<double>(run.timeline.end[*at]));
    ++at;
    if (row == nullptr) continue;
    const double y = middle_of(layout_, *row);
    const bool wide = x1 - x0 >= kNarrow;
    // Lines between rows, where they are far enough apart to be followed.
    if (last_y >= 0 && last_y != y && wide && last_end >= layout_.plot.x0 && x0 < layout_.plot.x1)
      list_.lines.push_back({clamp_x(last_end), static_cast<float>(last_y), clamp_x(x0),
                             static_cast<float>(y), ink_.critical, 1});
    last_end = x1;
    last_y = y;
    const Box clip = layout_.clipped(*row, row->lane(ChartLane::Work));
    const Box box{std::max(std::round(x0), clip.x0), clip.y0, std::min(std::round(x1), clip.x1), clip.y1};
    if (clip.empty() || !layout_.is_visible(*row)) continue;
    if (wide) {
      if (!box.empty()) list_.outlines.push_back(outline_of(box, ink_.critical, std::round(2 * scale_)));
      continue;
    }
    quad(list_.quads, {clamp_x(x0), clip.y1 - std::max(2.0, clip.height() / 6), clamp_x(x0 + 1), clip.y1},
         ink_.critical);
    at = std::partition_point(at, ops.end(), starts_before(layout_.time_of(x0 + 1)));
  }
}

void ChartListBuilder::add_selection() {
  const Selection& selection = session_.selection;
  const double width = std::round(2 * scale_);
  if (selection.hover)
    if (const auto box = layout_.rect_of(*selection.hover))
      list_.outlines.push_back(outline_of(*box, ink_.text, std::max(1.0, width * 0.75)));
  if (const auto& hit = session_.part<PointerPart>().hit; hit && hit->gap)
    if (const auto box = layout_.rect_of(*hit->gap))
      list_.outlines.push_back(outline_of(*box, ink_.accent, 1));
  const auto same_elsewhere = [&](const std::optional<OpRef>& op, Rgba colour) {
    if (!op || session_.runs.size() < 2) return;
    for (const OpRef& other : session_.part<CompareModel>().counterparts(session_, *op))
      if (const auto box = layout_.rect_of(other))
        list_.outlines.push_back(outline_of(*box, colour, std::max(1.0, width * 0.75)));
  };
  same_elsewhere(selection.hover, ink_.text);
  same_elsewhere(selection.op, ink_.accent);
  const auto select = [&](const std::optional<Box>& box) {
    if (!box) return;
    // A dark and a bright line: seen on every fill.
    const Box outer{box->x0 - 1, box->y0 - 1, box->x1 + 1, box->y1 + 1};
    list_.outlines.push_back(outline_of(outer, ink_.background, 1));
    list_.outlines.push_back(outline_of(*box, ink_.accent, width));
  };
  if (selection.op) select(layout_.rect_of(*selection.op));
  if (selection.gap) select(layout_.rect_of(*selection.gap));
}

/// Draws bars where the hovered microbatch runs, where ops are too narrow to be outlined.
void ChartListBuilder::add_microbatch() {
  constexpr std::size_t kMostOps = 2'000'000;
  if (!hovered_) return;
  const OpenRun* const open = session_.find_run(session_.selection.hover->run);
  if (open == nullptr || open->run->hang || open->run->schedule->num_ops() > kMostOps) return;
  const OpWalk* const walk = session_.part<OpWalks>().find(session_, open->run);
  if (walk == nullptr) return;
  const int step = step_at(*open->run, session_.selection.hover->op);
  for (const std::size_t op : walk->microbatch(*open->run, *hovered_, step)) {
    const Timeline& timeline = open->run->timeline;
    if (static_cast<double>(timeline.end[op] - timeline.start[op]) * pixels_per_tick_ >= kNarrow) continue;
    const auto box = layout_.rect_of(OpRef{open->run->id, op});
    if (box) quad(list_.quads, {box->x0 - 0.5, box->y0, box->x0 + 1.5, box->y1}, ink_.text);
  }
}

void ChartListBuilder::add_dependencies() {
  if (!session_.selection.op) return;
  const OpRef selected = *session_.selection.op;
  const OpenRun* const open = session_.find_run(selected.run);
  if (open == nullptr || open->run->hang) return;
  const OpWalk* const walk = session_.part<OpWalks>().find(session_, open->run);
  if (walk == nullptr) return;
  const RunModel& run = *open->run;
  const auto arrow = [&](std::size_t producer, std::size_t consumer, Rgba colour, float width) {
    const ChartRow* const from = layout_.row_of(run.id, rank_at(run, producer));
    const ChartRow* const to = layout_.row_of(run.id, rank_at(run, consumer));
    if (from == nullptr || to == nullptr) return;
    list_.arrows.push_back(
        {static_cast<float>(layout_.x_of(static_cast<double>(run.timeline.end[producer]))),
         static_cast<float>(middle_of(layout_, *from)),
         static_cast<float>(layout_.x_of(static_cast<double>(run.timeline.start[consumer]))),
         static_cast<float>(middle_of(layout_, *to)), colour, width});
  };
  const auto thin = static_cast<float>(1.5 * scale_);
  for (const Neighbour& one : walk->predecessors(run, selected.op))
    if (one.link != DependencyKind::Queue)
      arrow(one.position, selected.op, ink_.accent, one.binding ? 1.5F * thin : thin);
  for (const Neighbour& one : walk->successors(run, selected.op))
    if (one.link != DependencyKind::Queue) arrow(selected.op, one.position, ink_.muted, thin);
}

/// The x at which a rank of a run that hangs stops.
double ChartListBuilder::stop_of(const RunModel& run, Rank rank) const {
  const Ticks last = standstill(run, rank);
  const double x = layout_.x_of(static_cast<double>(last));
  // Where all of the run is in sight, the rank that stopped last did so at the edge: its mark stays inside.
  const double edge = layout_.plot.x1 - 26 * scale_;
  return x <= layout_.plot.x1 + 1 ? std::min(x, edge) : x;
}

/// Draws arrows from the point where a rank stops to the point where the rank that it waits for does.
void ChartListBuilder::add_waits(const ChartBlock& block) {
  const WaitGraph<Op>& graph = block.run->hang->graph;
  const std::vector<std::size_t> order = reading_order(graph);
  for (std::size_t i = 0; i < order.size(); ++i)
    add_wait(*block.run, graph.nodes[order[i]], i < graph.cycle.size());
}

void ChartListBuilder::add_wait(const RunModel& run, const WaitNode<Op>& node, bool in_cycle) {
  const ChartRow* const row = layout_.row_of(run.id, node.rank);
  const ChartRow* const other = layout_.row_of(run.id, node.on);
  if (row == nullptr || other == nullptr) return;
  const Rgba colour = in_cycle ? ink_.critical : ink_.muted;
  const double x = stop_of(run, node.rank);
  const double step = 10 * scale_;
  // Two that wait for each other have two arrows: they leave and arrive at different places.
  list_.arrows.push_back({static_cast<float>(x + step), static_cast<float>(middle_of(layout_, *row)),
                          static_cast<float>(stop_of(run, node.on) + 2.2 * step),
                          static_cast<float>(middle_of(layout_, *other)), colour,
                          static_cast<float>((in_cycle ? 2 : 1) * scale_), true});
  const Box clip = layout_.clipped(*row, row->lane(ChartLane::Work));
  if (!layout_.is_visible(*row) || clip.empty() || x < clip.x0 || x >= clip.x1) return;
  quad(list_.quads, {x, clip.y0, std::min(x + 3 * scale_, clip.x1), clip.y1}, colour);
  if (clip.height() + 2 * scale_ < fonts_.small.height) return;
  const std::string text = fmt::format("blocked at {}, waits for {} of rank {}",
                                       to_text(run.whole->ops()[node.at].with_joined(false)),
                                       to_text(node.needs), node.on.value());
  const double width = fonts_.small.width(text) + step;
  // Right of the ops that wait; where these leave no room, over the last of them, and over no half of one.
  double last_x = x;
  each_waiting(run, node.rank, standstill(run, node.rank), [&](Op, Ticks, Ticks end) {
    last_x = std::max(last_x, layout_.x_of(static_cast<double>(end)));
  });
  const double left = std::max(clip.x0, std::min(last_x + step / 2, clip.x1 - width));
  const double top = (clip.y0 + clip.y1 - fonts_.small.height) / 2;
  quad(list_.front, {left, clip.y0, left + width, clip.y1}, ink_.row);
  label(list_.front_labels, left + step / 2, top, text, ink_.text);
}

void ChartListBuilder::add_range() {
  if (const auto pill = cursor_pill()) on_ruler_.push_back(*pill);
  const Box& plot = layout_.plot;
  const auto shade = [&](double from, double to, Rgba fill, Rgba edge) {
    const double x0 = layout_.x_of(from);
    const double x1 = layout_.x_of(to);
    quad(list_.front, {clamp_x(x0), layout_.ruler.y0, clamp_x(x1), layout_.foot()}, fill);
    for (const double x : {x0, x1})
      if (x >= plot.x0 && x < plot.x1) quad(list_.front, {x, layout_.ruler.y0, x + 1, layout_.foot()}, edge);
  };
  const Rgba tint = ink_.accent & 0x00FFFFFFU;
  const PointerPart& pointer = session_.part<PointerPart>();
  if (pointer.band) shade(pointer.band->start, pointer.band->end, tint | 0x30000000U, ink_.accent);
  if (!session_.range || layout_.blocks.empty()) return;
  const auto start = static_cast<double>(session_.range->start);
  const auto end = static_cast<double>(session_.range->end);
  shade(start, end, tint | 0x20000000U, tint | 0xB0000000U);
  const std::string text = length_text(layout_, session_.range->end - session_.range->start);
  const double width = fonts_.small.width(text);
  const double middle = (clamp_x(layout_.x_of(start)) + clamp_x(layout_.x_of(end)) - width) / 2;
  if (layout_.x_of(end) <= plot.x0 || layout_.x_of(start) >= plot.x1) return;
  const double pad = 4 * scale_;
  double x = std::clamp(middle, plot.x0, std::max(plot.x0, plot.x1 - width));
  // Beside the time cursor, whose time is over the ruler too.
  if (const auto pill = cursor_pill(); pill && x - pad < pill->x1 && x + width + pad > pill->x0)
    x = pill->x1 + width + 2 * pad <= plot.x1 ? pill->x1 + pad : pill->x0 - width - pad;
  const double y = layout_.ruler.y0 + 1;
  on_ruler_.push_back({x - pad, y, x + width + pad, y + fonts_.small.height + 1});
  quad(list_.front, {x - pad, y, x + width + pad, y + fonts_.small.height + 1}, ink_.accent);
  label(list_.front_labels, x, y, text, ink_.background);
}

void ChartListBuilder::add_marks() {
  const double pad = 4 * scale_;
  for (const Mark& mark : session_.marks) {
    const double x = std::round(layout_.x_of(static_cast<double>(mark.time)));
    if (x < layout_.plot.x0 || x >= layout_.plot.x1) continue;
    const Rgba colour = mark.persistent ? ink_.accent : ink_.muted;
    quad(list_.front, {x, layout_.ruler.y0, x + 1, layout_.foot()}, colour);
    const double width = mark.note.empty() ? 3 * scale_ : fonts_.small.width(mark.note) + 2 * pad;
    const double height = fonts_.small.height + 1;
    Box box{x, layout_.ruler.y0 + 1, std::min(x + width, layout_.plot.x1), layout_.ruler.y0 + 1 + height};
    const auto covers = [&](const Box& other) {
      return other.x0 < box.x1 && box.x0 < other.x1 && other.y0 < box.y1 && box.y0 < other.y1;
    };
    // Below the texts that are there; where they are many, the list of marks has the note.
    constexpr int kMostLines = 4;
    for (int line = 1; line < kMostLines && std::ranges::any_of(on_ruler_, covers); ++line)
      box = {box.x0, box.y1, box.x1, box.y1 + height};
    if (std::ranges::any_of(on_ruler_, covers)) continue;
    on_ruler_.push_back(box);
    quad(list_.front, box, colour);
    if (!mark.note.empty()) label(list_.front_labels, x + pad, box.y0, mark.note, ink_.background);
  }
}

/// The time under the pointer, through all rows.
void ChartListBuilder::add_pointer() {
  if (const auto& drop = session_.part<PointerPart>().drop)
    quad(list_.front, {layout_.headers.x0, drop->y - scale_, layout_.plot.x1, drop->y + scale_}, ink_.accent);
  const std::optional<double> time = session_.part<PointerPart>().time;
  if (!time) return;
  const double x = std::round(layout_.x_of(*time));
  if (x < layout_.plot.x0 || x >= layout_.plot.x1) return;
  quad(list_.front, {x, layout_.ruler.y1 - 5 * scale_, x + 1, layout_.foot()},
       (ink_.text & 0x00FFFFFFU) | 0x60000000U);
}

std::string ChartListBuilder::cursor_text() const {
  return duration_text(nearest_tick(*part_.cursor), session_.active_run()->timeline.unit);
}

std::optional<Box> ChartListBuilder::cursor_pill() const {
  if (!part_.cursor || session_.active_run() == nullptr) return std::nullopt;
  const double x = std::round(layout_.x_of(*part_.cursor));
  if (x < layout_.plot.x0 || x >= layout_.plot.x1) return std::nullopt;
  const double width = fonts_.small.width(cursor_text()) + 14 * scale_;
  const double left =
      std::clamp(x - width / 2, layout_.plot.x0, std::max(layout_.plot.x1 - width, layout_.plot.x0));
  const double y = layout_.ruler.y0 + 1;
  return Box{left, y, left + width, y + fonts_.small.height + 3 * scale_};
}

/// The time cursor, with its time on the ruler.
void ChartListBuilder::add_cursor() {
  const std::optional<Box> pill = cursor_pill();
  if (!pill) return;
  const double x = std::round(layout_.x_of(*part_.cursor));
  quad(list_.front, {x, layout_.ruler.y0, x + 1, layout_.foot()}, ink_.accent);
  quad(list_.pills, *pill, ink_.accent);
  label(list_.front_labels, pill->x0 + 7 * scale_, pill->y0 + 1.5 * scale_, cursor_text(), ink_.background);
}

}  // namespace pipeloom::gui
