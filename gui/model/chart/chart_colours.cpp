#include "gui/model/chart/chart_colours.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/kinds.hpp"

namespace pipeloom::gui {
namespace {

using draw::Colour;
using draw::Theme;

constexpr Colour grey(std::uint8_t level) {
  return {level, level, level};
}

draw::Palette palette_of(std::string_view name) {
  return draw::palette_named(name).value_or(draw::Palette::Default);
}

Theme theme_of(const ChartColours::Key& key) {
  return key.dark ? Theme::Dark : Theme::Light;
}

Colour ground_of(Theme theme) {
  return draw::surface_of(theme).row;
}

}  // namespace

Colour kind_colour(std::string_view palette, Theme theme, OpKind kind, int shade, int shades) {
  return draw::kind_colour(theme, kind, shade, shades, palette_of(palette));
}

Colour gap_colour(std::string_view palette, Theme theme, IdleCause cause) {
  // Calmer than in a printed picture: the ops are the main thing.
  const Colour colour = draw::blend(draw::idle_colour(theme, cause), ground_of(theme), 0.35);
  return palette_of(palette) == draw::Palette::Greyscale ? draw::greyed(colour) : colour;
}

Colour run_colour(const Session& session, std::size_t index) {
  // The accent first; told apart from each other and from the kinds of ops.
  constexpr std::array kDark = {Colour{0x5e, 0xa9, 0xff}, Colour{0xc6, 0x9c, 0xff}, Colour{0x6f, 0xd6, 0xcf},
                                Colour{0xff, 0xa8, 0x8a}, Colour{0xd8, 0xe0, 0x7a}};
  constexpr std::array kLight = {Colour{0x00, 0x5c, 0xc5}, Colour{0x7b, 0x3f, 0xc4}, Colour{0x0b, 0x74, 0x6c},
                                 Colour{0xb0, 0x46, 0x1e}, Colour{0x66, 0x6c, 0x00}};
  const Theme theme = theme_of(session.preferences);
  const OpenRun* const baseline = session.baseline_run();
  if (session.runs.size() > 1 && baseline == &session.runs[index]) return draw::surface_of(theme).muted;
  std::size_t place = 0;
  for (std::size_t i = 0; i < index; ++i)
    if (baseline != &session.runs[i]) ++place;
  return (theme == Theme::Light ? kLight : kDark)[place % kDark.size()];
}

Colour message_colour(std::string_view palette, Theme theme, bool gradient) {
  if (palette == "greyscale") return grey(gradient ? 0xa0 : 0x70);
  const bool light = theme == Theme::Light;
  if (gradient) return light ? Colour{0xb0, 0x6a, 0x3c} : Colour{0xc9, 0x8a, 0x5e};
  return light ? Colour{0x4a, 0x86, 0xa8} : Colour{0x6c, 0xa6, 0xc4};
}

ChartColours::ChartColours(const RunModel& run, Key key)
    : key_(std::move(key)),
      schedule_(run.schedule.get()),
      by_kind_(*run.schedule, theme_of(key_), draw::ColourBy::Kind, palette_of(key_.palette)) {
  const Theme theme = theme_of(key_);
  dimmed_ = paint(draw::blend(ground_of(theme), draw::surface_of(theme).muted, 0.16));
  for (const OpKind kind : kAllOpKinds) {
    const Colour fill = kind_colour(key_.palette, theme, kind);
    kind_fills_[index_of(kind)] = is_hidden(kind) ? dimmed_.fill : rgba(fill);
  }
  if (key_.by == GanttColour::Chunk || key_.by == GanttColour::Stage || key_.by == GanttColour::Microbatch)
    make_series();
  else
    make_kinds();
  if (key_.by == GanttColour::Slack) make_slack_ramp();
  if (key_.has_tint) make_tint_ramp();
  find_shortest(run);
}

OpPaint ChartColours::paint(Colour fill) const {
  const Theme theme = theme_of(key_);
  return {rgba(fill), rgba(draw::text_on(fill)),
          rgba(draw::blend(fill, draw::surface_of(theme).background, 0.55))};
}

/// Takes the first op of each kind in the rank's queue, among the first ones.
void ChartColours::look_at_first_ops(const RunModel& run, Rank rank) {
  constexpr std::size_t kMostSeen = 4096;
  const auto ops = schedule_->ops();
  const std::size_t begin = schedule_->queue_begin(rank);
  const std::size_t end = std::min(schedule_->queue_end(rank), begin + kMostSeen);
  unsigned seen = 0;
  for (std::size_t op = begin; op < end && seen != kinds_; ++op) {
    const unsigned bit = 1U << index_of(ops[op].kind());
    if ((seen & bit) != 0) continue;
    seen |= bit;
    Ticks& shortest = shortest_of_[index_of(ops[op].kind())];
    const Ticks length = run.timeline.end_of(op) - run.timeline.start_of(op);
    shortest = shortest == 0 ? length : std::min(shortest, length);
  }
}

void ChartColours::find_shortest(const RunModel& run) {
  constexpr int kMostRanks = 256;
  for (const OpKind kind : kAllOpKinds)
    if (schedule_->contains(kind)) kinds_ |= 1U << index_of(kind);
  // Every kind occurs early in the queue of the last rank, where forwards and backwards alternate from the start.
  look_at_first_ops(run, Rank(schedule_->ranks() - 1));
  for (int rank = 0; rank < std::min(schedule_->ranks() - 1, kMostRanks); ++rank)
    look_at_first_ops(run, Rank(rank));
  for (const OpKind kind : kAllOpKinds) {
    const Ticks length = shortest_of_[index_of(kind)];
    if (length == 0 || is_copy(kind)) continue;
    shortest_ = shortest_ == 0 ? length : std::min(shortest_, length);
  }
}

void ChartColours::make_kinds() {
  const Theme theme = theme_of(key_);
  const int shades = by_kind_.shades();
  series_ = static_cast<std::size_t>(shades);
  for (const OpKind kind : kAllOpKinds)
    for (int shade = 0; shade < shades; ++shade)
      paints_.push_back(paint(kind_colour(key_.palette, theme, kind, shade, shades)));
}

void ChartColours::make_series() {
  const int count = key_.by == GanttColour::Stage   ? schedule_->stages()
                    : key_.by == GanttColour::Chunk ? by_kind_.chunks()
                                                    : schedule_->microbatches();
  series_ = static_cast<std::size_t>(count);
  for (const OpKind kind : kAllOpKinds)
    for (int index = 0; index < count; ++index)
      paints_.push_back(
          paint(draw::series_colour(theme_of(key_), index, count, kind, palette_of(key_.palette))));
}

void ChartColours::make_slack_ramp() {
  const Theme theme = theme_of(key_);
  const bool grey_only = key_.palette == "greyscale";
  // Colours from the critical path's red over amber to a quiet blue.
  const Colour hot = draw::surface_of(theme).critical;
  const Colour warm{0xe6, 0xa8, 0x3c};
  const Colour cool = theme == Theme::Light ? Colour{0x9d, 0xb8, 0xd6} : Colour{0x3f, 0x5f, 0x86};
  for (std::size_t level = 0; level < ramp_.size(); ++level) {
    const double share = static_cast<double>(level) / 255;
    const Colour fill =
        share < 0.35 ? draw::blend(hot, warm, share / 0.35) : draw::blend(warm, cool, (share - 0.35) / 0.65);
    ramp_[level] = paint(grey_only ? draw::greyed(fill) : fill);
  }
}

void ChartColours::make_tint_ramp() {
  const Theme theme = theme_of(key_);
  // Blue and orange: everyone can tell them apart. Grey when equal.
  const Colour equal = theme == Theme::Light ? grey(0xc4) : grey(0x55);
  const Colour less{0x2f, 0x86, 0xd2};
  const Colour more{0xe8, 0x71, 0x1c};
  for (int level = -127; level <= 127; ++level) {
    // The smallest difference shows.
    const double share = level == 0 ? 0 : 0.25 + 0.75 * std::abs(level) / 127;
    ramp_[static_cast<std::uint8_t>(static_cast<std::int8_t>(level))] =
        paint(draw::blend(equal, level < 0 ? less : more, share));
  }
  ramp_[static_cast<std::uint8_t>(kNoCounterpart)] =
      paint(theme == Theme::Light ? Colour{0xb0, 0x7c, 0xd6} : Colour{0x8e, 0x62, 0xb0});
}

const OpPaint& ChartColours::of(Op op) const {
  if (is_hidden(op.kind())) return dimmed_;
  std::size_t index = 0;
  switch (key_.by) {
    case GanttColour::Stage:
      index = op.stage().at();
      break;
    case GanttColour::Microbatch:
      index = op.microbatch().at();
      break;
    case GanttColour::Chunk:
      index = by_kind_.chunk_of(op).at();
      break;
    case GanttColour::Kind:
    case GanttColour::Slack:
      index = static_cast<std::size_t>(by_kind_.shade_of(op));
      break;
  }
  return paints_[index_of(op.kind()) * series_ + index];
}

}  // namespace pipeloom::gui
