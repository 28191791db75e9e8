#include "gui/model/draw/chart_list.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "gui/model/chart/op_walk.hpp"
#include "gui/model/draw/chart_builder.hpp"
#include "gui/model/edit/chart_pointer.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui {

void ChartList::clear() {
  ground.clear();
  rows.strips.clear();
  rows.rows = 0;
  rows.texels.clear();
  minimap.strips.clear();
  overview.strips.clear();
  quads.clear();
  outlines.clear();
  lines.clear();
  labels.clear();
  arrows.clear();
  front.clear();
  front_outlines.clear();
  front_lines.clear();
  front_labels.clear();
  text.clear();
}

ChartInk make_ink(bool dark) {
  const draw::Surface& surface = draw::surface_of(dark ? draw::Theme::Dark : draw::Theme::Light);
  ChartInk ink;
  ink.background = rgba(surface.background);
  ink.row = rgba(surface.row);
  ink.grid = rgba(surface.grid);
  ink.text = rgba(surface.text);
  ink.muted = rgba(surface.muted);
  ink.accent = dark ? rgba(94, 169, 255) : rgba(0, 92, 197);
  ink.critical = rgba(surface.critical);
  ink.memory_line = rgba(surface.memory_line);
  ink.memory_fill = rgba(surface.memory_fill);
  ink.memory_limit = rgba(surface.memory_limit);
  return ink;
}

ChartListBuilder::ChartListBuilder(Session& session, const ChartLayout& layout, const ChartFonts& fonts,
                                   ChartList& list)
    : session_(session),
      part_(session.part<ChartPart>()),
      layout_(layout),
      fonts_(fonts),
      list_(list),
      ink_(make_ink(session.preferences.dark)),
      scale_(layout.scale),
      from_(layout.range.start),
      to_(layout.range.end),
      pixels_per_tick_(layout.plot.width() / layout.range.length()),
      columns_(std::max(1, static_cast<int>(std::ceil(layout.plot.width())))) {
  list_.clear();
  if (!session.selection.hover) return;
  if (const OpenRun* open = session.find_run(session.selection.hover->run))
    hovered_ = op_at(*open->run, session.selection.hover->op).microbatch();
}

void ChartListBuilder::build() {
  add_legend();
  add_rulers();
  add_titles();
  add_headers();
  add_scroll_bar();
  begin_strips();
  for (const ChartRow& row : layout_.rows)
    if (layout_.is_visible(row)) add_row(row);
  list_.kept_texels.end_frame();
  list_.kept_extents.end_frame();
  ++list_.rows.version;
  for (const ChartBlock& block : layout_.blocks) {
    if (session_.view.show_critical) add_critical(block);
    if (block.run->hang) add_waits(block);
  }
  add_microbatch();
  add_selection();
  if (session_.view.show_arrows) add_dependencies();
  add_range();
  add_marks();
  add_pointer();
  add_minimap();
  add_overview();
}

float ChartListBuilder::clamp_x(double x) const {
  return static_cast<float>(std::clamp(x, layout_.plot.x0, layout_.plot.x1));
}

void ChartListBuilder::quad(std::vector<ChartQuad>& to, const Box& box, Rgba colour) {
  if (box.empty()) return;
  to.push_back({static_cast<float>(box.x0), static_cast<float>(box.y0), static_cast<float>(box.x1),
                static_cast<float>(box.y1), colour});
}

void ChartListBuilder::label(std::vector<ChartLabel>& to, double x, double y, std::string_view text,
                             Rgba colour, ChartFace face) {
  const auto begin = static_cast<std::uint32_t>(list_.text.size());
  list_.text.insert(list_.text.end(), text.begin(), text.end());
  // Letters are sharp on whole pixels only.
  to.push_back({static_cast<float>(std::round(x)), static_cast<float>(std::round(y)), colour, begin,
                static_cast<std::uint16_t>(text.size()), face});
}

bool ChartListBuilder::label_inside(const Box& box, std::string_view text, Rgba colour) {
  const double width = fonts_.small.width(text);
  if (width + 4 * scale_ > box.width() || fonts_.small.height > box.height() + 3 * scale_) return false;
  label(list_.labels, (box.x0 + box.x1 - width) / 2, (box.y0 + box.y1 - fonts_.small.height) / 2, text,
        colour);
  return true;
}

ChartListBuilder::RowLane ChartListBuilder::lane_of(const ChartRow& row, ChartLane which) const {
  const RunModel& run = *layout_.blocks[row.block].run;
  RowLane lane{
      .row = &row, .run = &run, .colours = &part_.colours_of(session_, run), .strip = row.lane(which)};
  lane.clip = layout_.clipped(row, lane.strip);
  if (const auto found = part_.tints.find(run.id); found != part_.tints.end())
    lane.tint = found->second.get();
  if (const auto found = part_.matches.find(run.id); found != part_.matches.end())
    lane.matches = found->second.get();
  const auto slack = part_.slack.find(run.id);
  if (session_.view.colour == GanttColour::Slack && slack != part_.slack.end())
    lane.slack = slack->second.get();
  lane.labels = !row.collapsed && lane.strip.height + 2 * scale_ >= fonts_.small.height;
  const double room = static_cast<double>(lane.colours->shortest()) * pixels_per_tick_;
  lane.letters = room > fonts_.small.width("W" + std::to_string(run.schedule->microbatches())) + 12 * scale_;
  return lane;
}

void ChartListBuilder::add_row(const ChartRow& row) {
  for (std::size_t i = 0; i < kChartLanes; ++i) {
    const auto which = static_cast<ChartLane>(i);
    if (row.lane(which).height <= 0) continue;
    RowLane lane = lane_of(row, which);
    if (lane.clip.empty()) continue;
    if (which == ChartLane::Work) quad(list_.ground, lane.clip, ink_.row);
    if (which == ChartLane::Work) add_ops(lane, Lane::Work);
    if (which == ChartLane::Copies) add_ops(lane, Lane::Copies);
    if (which == ChartLane::Send) add_messages(lane, MessageLane::Send);
    if (which == ChartLane::Receive) add_messages(lane, MessageLane::Receive);
    if (which == ChartLane::Memory) add_memory(lane);
  }
}

namespace {

void snap(ChartLayout& layout) {
  constexpr double kMostColumns = 1e12;
  const double length = layout.range.length();
  const double per_pixel = layout.ticks_per_pixel();
  const double column = std::round(layout.range.start / per_pixel);
  if (std::abs(column) > kMostColumns) return;
  layout.range.start = column * per_pixel;
  layout.range.end = layout.range.start + length;
}

}  // namespace

void build_chart_list(Session& session, const ChartLayout& layout, const ChartFonts& fonts, ChartList& list) {
  list.layout = layout;
  snap(list.layout);
  ChartListBuilder(session, list.layout, fonts, list).build();
}

}  // namespace pipeloom::gui
