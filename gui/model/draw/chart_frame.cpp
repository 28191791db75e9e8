// What stands around the rows: legend, names of ranks, scroll bar.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gui/model/chart/chart_words.hpp"
#include "gui/model/draw/chart_builder.hpp"
#include "gui/model/edit/chart_pointer.hpp"

namespace pipeloom::gui {

/// Kinds, and what else colours mean.
void ChartListBuilder::add_legend() {
  const bool tinted = std::any_of(layout_.blocks.begin(), layout_.blocks.end(), [&](const ChartBlock& block) {
    return part_.tints.contains(block.run->id);
  });
  const bool coloured = session_.view.colour == GanttColour::Kind && !tinted;
  for (const LegendEntry& entry : layout_.entries) add_legend_entry(entry, coloured);
  if (!coloured && !layout_.entries.empty()) add_legend_scale(layout_.entries.back().box.x1 + 14 * scale_);
}

void ChartListBuilder::add_legend_entry(const LegendEntry& entry, bool coloured) {
  const Preferences& preferences = session_.preferences;
  const double side = std::round(11 * scale_);
  const double middle = (entry.box.y0 + entry.box.y1) / 2;
  const double x = std::round(entry.box.x0 + 6 * scale_);
  const double y = std::round(middle - side / 2);
  const draw::Colour fill = kind_colour(preferences.palette, theme_of(preferences), entry.kind);
  const bool hidden = (session_.view.hidden_kinds >> index_of(entry.kind) & 1U) != 0;
  const bool other = session_.selection.kind && *session_.selection.kind != entry.kind;
  const ChartQuad swatch{static_cast<float>(x), static_cast<float>(y), static_cast<float>(x + side),
                         static_cast<float>(y + side), coloured ? rgba(fill) : ink_.muted};
  if (!hidden) list_.ground.push_back(swatch);
  if (!hidden && preferences.hatching) add_hatching(swatch, entry.kind, rgba(draw::text_on(fill)));
  list_.outlines.push_back(
      {swatch.x0, swatch.y0, swatch.x1, swatch.y1, hidden ? ink_.muted : swatch.colour, 1});
  label(list_.labels, x + side + 6 * scale_, middle - fonts_.small.height / 2, legend_text(entry.kind),
        hidden || other ? ink_.muted : ink_.text);
}

/// "microbatch 0", its colours, "511".
void ChartListBuilder::add_legend_scale(double x) {
  constexpr int kMostSteps = 40;
  const RunModel& run = *layout_.blocks.front().run;
  const ChartColours& colours = part_.colours_of(session_, run);
  const GanttColour by = session_.view.colour;
  const bool tinted = colours.key().has_tint;
  const bool ramp = tinted || by == GanttColour::Slack;
  const int count = ramp ? kMostSteps : static_cast<int>(colours.series());
  const int steps = std::min(count, kMostSteps);
  const std::string first = tinted ? "shorter" : ramp ? "critical" : fmt::format("{} 0", name_of(by));
  const std::string last = tinted ? "longer" : ramp ? "slack" : std::to_string(count - 1);
  const double side = std::round(11 * scale_);
  const double y = std::round((layout_.legend.y0 + layout_.legend.y1 - side) / 2);
  const double text_y = (layout_.legend.y0 + layout_.legend.y1 - fonts_.small.height) / 2;
  const double each = std::max(1.0, std::round((steps > 10 ? 3 : 11) * scale_));
  const double start = std::round(x + fonts_.small.width(first) + 6 * scale_);
  const double end = start + each * steps;
  if (end + 6 * scale_ + fonts_.small.width(last) > layout_.legend.x1) return;
  label(list_.labels, x, text_y, first, ink_.muted);
  for (int i = 0; i < steps; ++i) {
    const double share = steps == 1 ? 0 : static_cast<double>(i) / (steps - 1);
    const OpPaint& paint =
        tinted ? colours.of_tint(static_cast<std::int8_t>(std::lround(254 * share) - 127))
        : ramp ? colours.of_slack(static_cast<std::uint8_t>(std::lround(255 * share)))
               : colours.of_series(static_cast<std::size_t>(std::lround((count - 1) * share)));
    quad(list_.ground, {start + each * i, y, start + each * (i + 1), y + side}, paint.fill);
  }
  label(list_.labels, end + 6 * scale_, text_y, last, ink_.muted);
}

/// Rows that are too thin for a name each: every second, fourth, .. rank has one.
int ChartListBuilder::name_every(const ChartRow& row) const {
  int every = 1;
  while (row.all.height * every < fonts_.small.height) every *= 2;
  return every;
}

void ChartListBuilder::add_headers() {
  const std::optional<Hit>& hit = session_.part<PointerPart>().hit;
  for (const ChartRow& row : layout_.rows) {
    if (!layout_.is_visible(row)) continue;
    const Strip& work = row.lane(ChartLane::Work);
    const bool under = hit && hit->rank == row.rank && hit->block == row.block;
    const int every = name_every(row);
    const double y = work.y + (work.height - fonts_.small.height) / 2;
    const double top = row.pinned ? layout_.plot.y0 : layout_.body.y;
    const bool inside =
        y >= top - fonts_.small.height / 2 && y + fonts_.small.height <= layout_.plot.y1 + 3 * scale_;
    if (inside && (row.rank.value() % every == 0 || row.pinned)) {
      const bool several = layout_.blocks.size() > 1 && row.pinned;
      const std::string name = several ? fmt::format("rank {} ({})", row.rank.value(), row.block + 1)
                                       : fmt::format("rank {}", row.rank.value());
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
  const auto centre = [](const Box& box) { return std::pair((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2); };
  quad(list_.front, {buttons.pin.x0 - 2 * scale_, buttons.pin.y0, buttons.collapse.x1, buttons.pin.y1},
       ink_.background);
  const auto line = [&](double x0, double y0, double x1, double y1, Rgba colour) {
    list_.front_lines.push_back({static_cast<float>(x0), static_cast<float>(y0), static_cast<float>(x1),
                                 static_cast<float>(y1), colour, static_cast<float>(1.5 * scale_)});
  };
  const double r = 3.5 * scale_;
  const auto [px, py] = centre(buttons.pin);
  const Rgba pin = row.pinned ? ink_.accent : under == HeaderButton::Pin ? ink_.text : ink_.muted;
  line(px - r, py - r, px + r, py - r, pin);
  line(px, py - r, px, py + r * 1.3, pin);
  line(px - r * 0.7, py + r * 0.3, px + r * 0.7, py + r * 0.3, pin);
  const auto [cx, cy] = centre(buttons.collapse);
  const Rgba wedge = under == HeaderButton::Collapse ? ink_.text : ink_.muted;
  const double turn = row.collapsed ? -1 : 1;
  line(cx - r, cy - turn * r / 2, cx, cy + turn * r / 2, wedge);
  line(cx, cy + turn * r / 2, cx + r, cy - turn * r / 2, wedge);
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

}  // namespace pipeloom::gui
