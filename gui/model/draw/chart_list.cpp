#include "gui/model/draw/chart_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gui/model/chart/chart_words.hpp"
#include "gui/model/chart/op_walk.hpp"
#include "gui/model/draw/chart_builder.hpp"
#include "gui/model/draw/icons.hpp"
#include "gui/model/edit/chart_pointer.hpp"
#include "gui/model/session/thin_spaces.hpp"
#include "sim/draw/axis.hpp"
#include "sim/draw/tokens.hpp"
#include "sim/draw/words.hpp"
#include "study/compare/compare.hpp"

namespace pipeloom::gui {

float ChartFont::width(std::string_view text) const {
  float sum = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80U) {
      sum += advance[byte];
    } else if (byte >= 0xC0U) {  // the first byte of a letter in UTF-8
      const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
      sum += advance[byte <= 0xC3U ? ((byte & 3U) << 6U | (next & 0x3FU)) : static_cast<unsigned char>('m')];
    }
  }
  return sum;
}

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
  dots.clear();
  front.clear();
  front_outlines.clear();
  pills.clear();
  front_lines.clear();
  front_labels.clear();
  text.clear();
}

ChartInk make_ink(bool dark) {
  const draw::Theme theme = dark ? draw::Theme::Dark : draw::Theme::Light;
  const draw::Surface& surface = draw::surface_of(theme);
  const draw::Tokens& tokens = draw::tokens_of(theme);
  ChartInk ink;
  // Figures are on white paper, the chart of the light window next to white panels.
  ink.background = rgba(tokens.ground);
  ink.row = rgba(surface.row);
  ink.grid = rgba(surface.grid);
  ink.text = rgba(surface.text);
  ink.muted = rgba(surface.muted);
  ink.bad = rgba(tokens.bad);
  ink.good = rgba(tokens.good);
  ink.accent = rgba(tokens.accent);
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
  add_rank_hits();
  add_scroll_bar();
  begin_strips();
  for (const ChartRow& row : layout_.rows)
    if (layout_.is_visible(row)) add_row(row);
  add_memory_track();
  list_.kept_texels.end_frame();
  list_.kept_extents.end_frame();
  ++list_.rows.version;
  for (const ChartBlock& block : layout_.blocks) {
    if (session_.view.show_critical) add_critical(block);
    if (block.run->hang) add_waits(block);
    add_end(block);
    add_steps(block);
  }
  add_microbatch();
  add_selection();
  if (session_.view.show_arrows) add_dependencies();
  add_range();
  add_marks();
  add_pointer();
  add_cursor();
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
  if (width + 2 * scale_ > box.width() || fonts_.small.height > box.height() + 3 * scale_) return false;
  label(list_.labels, (box.x0 + box.x1 - width) / 2, (box.y0 + box.y1 - fonts_.small.height) / 2, text,
        colour);
  return true;
}

// Rulers, and the headings of runs.

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
    const std::string text = with_thin_spaces(tick.label);
    const double width = font.width(text);
    const double left = std::clamp(x - width / 2, ruler.x0, std::max(ruler.x0, ruler.x1 - width));
    label(list_.labels, left, y, text, ink_.muted);
  }
  const std::string title = draw::axis_title(axis.unit);
  const std::size_t from = title.find('(') + 1;
  label(list_.labels, layout_.headers.x0 + 8 * scale_, y, title.substr(from, title.find(')') - from),
        ink_.muted);
}

/// The part of a block that is in the body: from its title to the next.
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
  if (shared && !layout_.memory.empty()) through.push_back({layout_.memory.y0, layout_.memory.height()});
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

/// Adds dot, name, shape, and at the end the results of the run.
void ChartListBuilder::add_titles() {
  for (const ChartBlock& block : layout_.blocks) {
    const Box box{layout_.headers.x0, std::max(block.title.y, layout_.body.y), layout_.plot.x1,
                  std::min(block.title.bottom(), layout_.plot.y1)};
    if (box.empty()) continue;
    quad(list_.ground, box, ink_.background);
    const double y = block.title.y + (block.title.height - fonts_.strong.height) / 2;
    if (y < layout_.body.y || y + fonts_.strong.height > layout_.plot.y1) continue;
    const bool active = block.index == session_.active;
    if (active)
      quad(list_.ground, {box.x0, box.y0 + 3 * scale_, box.x0 + 2 * scale_, box.y1 - 3 * scale_},
           ink_.accent);
    add_badge(block, box, add_heading(block, box));
  }
}

/// Returns where it ends.
double ChartListBuilder::add_heading(const ChartBlock& block, const Box& box) {
  const bool active = block.index == session_.active;
  const double middle = block.title.y + block.title.height / 2;
  list_.dots.push_back({static_cast<float>(box.x0 + 11 * scale_), static_cast<float>(middle),
                        static_cast<float>(3.5 * scale_), rgba(run_colour(session_, block.index))});
  const RunHeading heading = heading_of(*block.run, session_.runs[block.index].title());
  double x = box.x0 + 20 * scale_;
  label(list_.labels, x, middle - fonts_.strong.height / 2, heading.name, active ? ink_.text : ink_.muted,
        ChartFace::Strong);
  x += fonts_.strong.width(heading.name) + 8 * scale_;
  std::string shape = heading.shape;
  // A run under a ruler of its own says why.
  if (block.ruler.height > 0)
    shape += " \u00b7 " + study::clock_difference(layout_.blocks.front().run->timeline, block.run->timeline);
  label(list_.labels, x, middle - fonts_.small.height / 2, shape, ink_.muted);
  return x + fonts_.small.width(shape);
}

/// Adds the results of the run, as many of them as the heading has room for.
void ChartListBuilder::add_badge(const ChartBlock& block, const Box& box, double title_end) {
  const OpenRun* open = session_.baseline_run();
  std::vector<BadgePart> parts = badge_parts(*block.run, open == nullptr ? nullptr : open->run.get());
  const auto left = [&] {
    double width = 0;
    for (const BadgePart& part : parts) width += fonts_.small.width(part.text);
    return box.x1 - width - 8 * scale_;
  };
  for (int group = 2; group >= 0 && left() < title_end + 16 * scale_; --group)
    std::erase_if(parts, [&](const BadgePart& part) { return part.group == group; });
  const auto ink_of = [&](BadgePart::Tone tone) {
    switch (tone) {
      case BadgePart::Tone::Better:
        return ink_.good;
      case BadgePart::Tone::Worse:
        return ink_.bad;
      case BadgePart::Tone::Quiet:
        return ink_.muted;
      case BadgePart::Tone::Value:
        break;
    }
    return ink_.text;
  };
  double x = left();
  for (const BadgePart& part : parts) {
    label(list_.labels, x, (box.y0 + box.y1 - fonts_.small.height) / 2, part.text, ink_of(part.tone));
    x += fonts_.small.width(part.text);
  }
}

/// Draws the end of a run, through its rows.
void ChartListBuilder::add_end(const ChartBlock& block) {
  if (block.run->hang || block.first_row == block.last_row) return;
  const double x = std::round(layout_.x_of(static_cast<double>(block.run->span().end)));
  if (x < layout_.plot.x0 || x > layout_.plot.x1) return;
  const double left = std::min(x, layout_.plot.x1 - 1);
  const double top = std::max(layout_.rows[block.first_row].all.y - 2 * scale_, layout_.body.y);
  const double bottom = std::min(layout_.rows[block.last_row - 1].all.bottom() + 2 * scale_, layout_.plot.y1);
  const double dash = 3 * scale_;
  for (double y = top; y < bottom; y += 2 * dash)
    quad(list_.front, {left, y, left + 1, std::min(y + dash, bottom)}, ink_.muted);
}

/// Draws where each step begins, through the rows, and its number above them.
void ChartListBuilder::add_steps(const ChartBlock& block) {
  const std::vector<Ticks>& starts = block.run->step_start;
  if (starts.empty() || block.first_row == block.last_row) return;
  const double top = std::max(block.steps.y, layout_.body.y);
  const double bottom = std::min(layout_.rows[block.last_row - 1].all.bottom(), layout_.plot.y1);
  const double y = block.steps.y + (block.steps.height - fonts_.small.height) / 2;
  double drawn_to = -1;
  for (std::size_t step = 0; step < starts.size(); ++step) {
    const double x = std::round(layout_.x_of(static_cast<double>(starts[step])));
    const double next = step + 1 < starts.size() ? layout_.x_of(static_cast<double>(starts[step + 1]))
                                                 : static_cast<double>(layout_.plot.x1);
    const double end = std::min(next, layout_.plot.x1);
    if (end <= layout_.plot.x0 || x >= layout_.plot.x1 || x < drawn_to || bottom <= top) continue;
    if (x >= layout_.plot.x0) quad(list_.front, {x, top, x + 1, bottom}, ink_.muted);
    drawn_to = x + kNarrow;
    // Of a step that began before the view, the number is at the left.
    const std::string name = fmt::format("step {}", step);
    const double left = std::max(x, layout_.plot.x0) + 4 * scale_;
    if (y >= layout_.body.y && left + fonts_.small.width(name) <= end)
      label(list_.labels, left, y, name, ink_.muted);
  }
}

// Names of ranks, scroll bar.

/// Rows that are too thin for a name each: every second, fourth, .. rank has one.
int ChartListBuilder::name_every(const ChartRow& row) const {
  int every = 1;
  while (row.all.height * every < fonts_.small.height) every *= 2;
  return every;
}

/// The number by which names are left out: the rank where rows are in order of rank, so that names stay put while ranks are folded; else the row.
int ChartListBuilder::place_of(const ChartRow& row) const {
  if (session_.view.order.by_number()) return row.rank.value();
  return static_cast<int>(&row - layout_.rows.data()) - static_cast<int>(layout_.blocks[row.block].first_row);
}

/// Adjacent folded ranks share a name: "ranks 0-7", or their number where they are not in order of rank. The first visible one of them
/// writes it.
void ChartListBuilder::add_folded_name(const ChartRow& row) {
  const ChartBlock& block = layout_.blocks[row.block];
  const auto at = static_cast<std::size_t>(&row - layout_.rows.data());
  std::size_t first = at;
  while (first > block.first_row && layout_.rows[first - 1].collapsed) --first;
  const bool seen = std::any_of(layout_.rows.begin() + static_cast<std::ptrdiff_t>(first),
                                layout_.rows.begin() + static_cast<std::ptrdiff_t>(at),
                                [&](const ChartRow& one) { return layout_.is_visible(one); });
  if (seen) return;
  std::size_t last = at;
  while (last + 1 < block.last_row && layout_.rows[last + 1].collapsed) ++last;
  const double y = (layout_.rows[first].all.y + layout_.rows[last].all.bottom() - fonts_.small.height) / 2;
  if (y < layout_.body.y - fonts_.small.height / 2 || y + fonts_.small.height > layout_.plot.y1 + 3 * scale_)
    return;
  const int from = layout_.rows[first].rank.value();
  const int to = layout_.rows[last].rank.value();
  // In order of rank, hidden or pinned ranks may be missing between them; in another order the missing ones may be anywhere.
  bool by_number = session_.view.order.by_number() || to - from == static_cast<int>(last - first);
  for (std::size_t i = first; i < last; ++i)
    by_number = by_number && layout_.rows[i + 1].rank > layout_.rows[i].rank;
  const std::string name = first == last ? draw::rank_label(row.rank)
                           : by_number   ? fmt::format("ranks {}-{}", from, to)
                                         : fmt::format("{} ranks", last - first + 1);
  label(list_.labels, layout_.headers.x0 + 8 * scale_, y, name, ink_.muted);
}

void ChartListBuilder::add_headers() {
  const std::optional<Hit>& hit = session_.part<PointerPart>().hit;
  std::vector<double> pinned;  // tops of their names: low rows have no room for each
  const auto has_room = [&](double y) {
    return std::ranges::none_of(pinned,
                                [&](double other) { return std::abs(other - y) < fonts_.small.height; });
  };
  for (const ChartRow& row : layout_.rows) {
    if (!layout_.is_visible(row)) continue;
    const Strip& work = row.lane(ChartLane::Work);
    const bool under = hit && hit->rank == row.rank && hit->block == row.block;
    if (row.collapsed && !row.pinned) {
      add_folded_name(row);
      if (under && hit->area == ChartArea::RowHeader) add_header_buttons(row, hit->button);
      continue;
    }
    const int every = name_every(row);
    const double y = work.y + (work.height - fonts_.small.height) / 2;
    const double top = row.pinned ? layout_.plot.y0 : layout_.body.y;
    const bool inside =
        y >= top - fonts_.small.height / 2 && y + fonts_.small.height <= layout_.plot.y1 + 3 * scale_;
    if (inside && (row.pinned ? has_room(y) : place_of(row) % every == 0)) {
      if (row.pinned) pinned.push_back(y);
      const bool several = layout_.blocks.size() > 1 && row.pinned;
      const std::string name = several ? fmt::format("{} ({})", draw::rank_label(row.rank), row.block + 1)
                                       : draw::rank_label(row.rank);
      label(list_.labels, layout_.headers.x0 + 8 * scale_, y, name, under ? ink_.text : ink_.muted);
    }
    if (row.pinned)
      quad(list_.ground,
           {layout_.headers.x0 + 2 * scale_, work.y, layout_.headers.x0 + 4 * scale_, work.bottom()},
           ink_.accent);
    if (under && hit->area == ChartArea::RowHeader) add_header_buttons(row, hit->button);
  }
  if (layout_.pinned_rows > 0)
    quad(list_.ground,
         {layout_.headers.x0, layout_.body.y - 2 * scale_, layout_.plot.x1, layout_.body.y - 2 * scale_ + 1},
         ink_.grid);
}

/// A pin's head and a wedge, over the name.
void ChartListBuilder::add_header_buttons(const ChartRow& row, HeaderButton under) {
  const HeaderButtons buttons = layout_.header_buttons(row);
  if (buttons.pin.empty()) return;
  const auto icon = [&](Icon sign, const Box& box, Rgba ink) {
    const auto x = static_cast<float>((box.x0 + box.x1) / 2);
    const auto y = static_cast<float>((box.y0 + box.y1) / 2);
    const auto r = static_cast<float>(4 * scale_);
    for (const IconStroke& one : shape_of(sign).strokes)
      list_.front_lines.push_back({x + one.x0 * r, y + one.y0 * r, x + one.x1 * r, y + one.y1 * r, ink,
                                   static_cast<float>(1.5 * scale_)});
  };
  quad(list_.front, {buttons.pin.x0 - 2 * scale_, buttons.pin.y0, buttons.collapse.x1, buttons.pin.y1},
       ink_.background);
  const Rgba pin = row.pinned ? ink_.accent : under == HeaderButton::Pin ? ink_.text : ink_.muted;
  icon(Icon::Pin, buttons.pin, pin);
  icon(row.collapsed ? Icon::Up : Icon::Down, buttons.collapse,
       under == HeaderButton::Collapse ? ink_.text : ink_.muted);
}

void ChartListBuilder::add_scroll_bar() {
  const Box& bar = layout_.scroll_bar;
  if (bar.empty()) return;
  const double top = bar.y0 + layout_.scroll / layout_.content_height * bar.height();
  const double height = std::max(layout_.body.height / layout_.content_height * bar.height(), 12 * scale_);
  const double y = std::min(top, bar.y1 - height);
  const std::optional<Hit>& hit = session_.part<PointerPart>().hit;
  const bool under = hit && hit->area == ChartArea::ScrollBar;
  quad(list_.ground, bar, ink_.row);
  quad(list_.ground, {bar.x0 + 2 * scale_, y, bar.x1 - 2 * scale_, y + height},
       under ? ink_.muted : ink_.grid);
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
