// The legend: kinds, and other meanings of colours, shades and outlines.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "gui/model/chart/chart_words.hpp"
#include "gui/model/draw/chart_builder.hpp"

namespace pipeloom::gui {

/// The first run on screen that is coloured by how its ops differ, or the first that is not; null: there is none.
const RunModel* ChartListBuilder::first_run(bool tinted) const {
  for (const ChartBlock& block : layout_.blocks)
    if (part_.tints.contains(block.run->id) == tinted) return block.run.get();
  return nullptr;
}

/// Slack is wanted and not known of the run (yet): its ops are in the colours of kinds.
bool ChartListBuilder::lacks_slack(const RunModel& run) const {
  return session_.view.colour == GanttColour::Slack &&
         op_look(session_, part_, run, part_.colours_of(session_, run)).slack == nullptr;
}

/// Adds kinds, and other meanings of colours. Where runs are coloured in two ways, both.
void ChartListBuilder::add_legend() {
  const RunModel* const tinted = first_run(true);
  const RunModel* const plain = first_run(false);
  const bool by_kind = session_.view.colour == GanttColour::Kind || (plain != nullptr && lacks_slack(*plain));
  for (const LegendEntry& entry : layout_.entries) add_legend_entry(entry, by_kind && plain != nullptr);
  if (layout_.entries.empty()) return;
  double x = layout_.entries.back().box.x1 + 8 * scale_;
  if (plain != nullptr) x = by_kind ? add_legend_shades(x) : add_legend_scale(x, *plain);
  if (tinted != nullptr) x = add_legend_scale(x, *tinted);
  add_legend_signs(x);
}

/// One more thing that the legend explains, if it has room: `draw` gets the box of a swatch. Returns where the next one begins.
template <class Draw>
double ChartListBuilder::add_legend_note(double x, std::string_view text, Draw draw) {
  const double side = std::round(11 * scale_);
  const double end = x + side + 6 * scale_ + fonts_.small.width(text);
  if (end > layout_.legend.x1) return x;
  const double middle = (layout_.legend.y0 + layout_.legend.y1) / 2;
  const double y = std::round(middle - side / 2);
  draw(Box{std::round(x), y, std::round(x) + side, y + side});
  label(list_.labels, x + side + 6 * scale_, middle - fonts_.small.height / 2, text, ink_.muted);
  return end + 14 * scale_;
}

/// Explains the shades of a kind.
double ChartListBuilder::add_legend_shades(double x) {
  const ChartBlock* shaded = nullptr;
  int shades = 1;
  for (const ChartBlock& block : layout_.blocks) {
    const int here = part_.colours_of(session_, *block.run).shades();
    if (here > shades) shaded = &block;
    shades = std::max(shades, here);
  }
  if (shaded == nullptr) return x;
  const Preferences& preferences = session_.preferences;
  const bool chunks = part_.colours_of(session_, *shaded->run).has_chunks();
  const std::string text =
      fmt::format("{} {}", chunks ? "chunk 1" : "other direction", preferences.dark ? "darker" : "paler");
  return add_legend_note(x, text, [&](const Box& box) {
    const OpKind kind = layout_.entries.front().kind;
    const double middle = std::round((box.x0 + box.x1) / 2);
    const auto fill = [&](int shade) {
      return rgba(kind_colour(preferences.palette, theme_of(preferences), kind, shade, shades));
    };
    quad(list_.ground, {box.x0, box.y0, middle, box.y1}, fill(0));
    quad(list_.ground, {middle, box.y0, box.x1, box.y1}, fill(1));
  });
}

/// Tints and outlines that are drawn now.
void ChartListBuilder::add_legend_signs(double x) {
  const auto outline = [&](Rgba colour, float width) {
    return [this, colour, width](const Box& box) {
      list_.outlines.push_back({static_cast<float>(box.x0), static_cast<float>(box.y0),
                                static_cast<float>(box.x1), static_cast<float>(box.y1), colour, width});
    };
  };
  const auto line = static_cast<float>(std::round(2 * scale_));
  if (session_.view.show_critical) x = add_legend_note(x, "critical path", outline(ink_.critical, line));
  const bool hangs = std::any_of(layout_.blocks.begin(), layout_.blocks.end(),
                                 [](const ChartBlock& block) { return block.run->hang.has_value(); });
  if (hangs) x = add_legend_note(x, "did not run", outline(ink_.muted, 1));
  if (!session_.view.show_idle) return;
  const Preferences& preferences = session_.preferences;
  for (std::size_t cause = 0; cause < kIdleCauses; ++cause) {
    const auto one = static_cast<IdleCause>(cause);
    const Rgba fill = rgba(gap_colour(preferences.palette, theme_of(preferences), one));
    x = add_legend_note(x, name_of(one), [&](const Box& box) { quad(list_.ground, box, fill); });
  }
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
double ChartListBuilder::add_legend_scale(double x, const RunModel& run) {
  constexpr int kMostSteps = 40;
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
  if (end + 6 * scale_ + fonts_.small.width(last) > layout_.legend.x1) return x;
  label(list_.labels, x, text_y, first, ink_.muted);
  for (int i = 0; i < steps; ++i) {
    const double share = steps == 1 ? 0 : static_cast<double>(i) / (steps - 1);
    const OpPaint& paint =
        tinted ? colours.tint_at(share)
        : ramp ? colours.slack_at(share)
               : colours.of_series(static_cast<std::size_t>(std::lround((count - 1) * share)));
    quad(list_.ground, {start + each * i, y, start + each * (i + 1), y + side}, paint.fill);
  }
  label(list_.labels, end + 6 * scale_, text_y, last, ink_.muted);
  x = end + 6 * scale_ + fonts_.small.width(last) + 14 * scale_;
  if (!tinted) return x;
  x = add_legend_note(x, "equal", [&](const Box& box) { quad(list_.ground, box, colours.of_tint(0).fill); });
  return add_legend_note(
      x, "only here", [&](const Box& box) { quad(list_.ground, box, colours.of_tint(kNoCounterpart).fill); });
}

}  // namespace pipeloom::gui
