#pragma once

// Colours of ops in the window: palettes, ways of colouring, dimming.

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gui/model/chart/chart_part.hpp"
#include "gui/model/session/session.hpp"
#include "sim/draw/op_colours.hpp"
#include "sim/draw/palette.hpp"

namespace pipeloom::gui {

/// 0xAABBGGRR.
using Rgba = std::uint32_t;

[[nodiscard]] constexpr Rgba rgba(unsigned red, unsigned green, unsigned blue, unsigned alpha = 255) {
  return red | (green << 8U) | (blue << 16U) | (alpha << 24U);
}
[[nodiscard]] constexpr Rgba rgba(draw::Colour colour, unsigned alpha = 255) {
  return rgba(colour.red, colour.green, colour.blue, alpha);
}

/// By the name of a draw::Palette; unknown names are the default. Theme: colours that vanish on one background have another version there.
[[nodiscard]] draw::Colour kind_colour(std::string_view palette, draw::Theme theme, OpKind kind,
                                       int shade = 0, int shades = 1);
/// The colour of gaps with this cause; a grey in "greyscale".
[[nodiscard]] draw::Colour gap_colour(std::string_view palette, draw::Theme theme, IdleCause cause);
[[nodiscard]] inline draw::Theme theme_of(const Preferences& preferences) {
  return preferences.dark ? draw::Theme::Dark : draw::Theme::Light;
}
/// The colour of a run of the stack: its dot, its line of memory. Grey for the baseline that others are compared with.
[[nodiscard]] draw::Colour run_colour(const Session& session, std::size_t index);
/// The colour of messages under way.
[[nodiscard]] draw::Colour message_colour(std::string_view palette, draw::Theme theme, bool gradient);

/// The paint of an op.
struct OpPaint {
  Rgba fill = 0;
  /// The colour of its label: the contrast is at least 4.5 : 1.
  Rgba text = 0;
  /// The colour of the line to the next op.
  Rgba edge = 0;
};

/// The paints of one run. Made when the run or its colouring changes, not every frame: O(stages + microbatches).
class ChartColours {
 public:
  struct Key {
    std::uint64_t run = 0;
    GanttColour by = GanttColour::Kind;
    bool dark = true;
    std::string palette;
    unsigned hidden_kinds = 0;
    bool has_tint = false;
    friend bool operator==(const Key&, const Key&) = default;
  };

  ChartColours(const RunModel& run, Key key);
  [[nodiscard]] const Key& key() const { return key_; }

  /// By kind, chunk, stage or microbatch. O(1).
  [[nodiscard]] const OpPaint& of(Op op) const;
  /// The paint for GanttColour::Slack: 0 critical .. 255 any time. REQUIRES: Key::by is Slack, and not Key::has_tint.
  [[nodiscard]] const OpPaint& of_slack(std::uint8_t level) const { return ramp_[level]; }
  /// The paint for a comparison: grey for equal, one hue for shorter, another for longer. REQUIRES: Key::has_tint.
  [[nodiscard]] const OpPaint& of_tint(std::int8_t level) const {
    return ramp_[static_cast<std::uint8_t>(level)];
  }
  /// The same from one end of the scale to the other, 0 .. 1, for legends.
  [[nodiscard]] const OpPaint& slack_at(double share) const {
    return of_slack(static_cast<std::uint8_t>(std::lround(255 * share)));
  }
  [[nodiscard]] const OpPaint& tint_at(double share) const {
    return of_tint(static_cast<std::int8_t>(std::lround(254 * share) - 127));
  }
  /// The number of stages, microbatches or chunks to colour, where Key::by is one of them, and the paint of forward `index`.
  [[nodiscard]] std::size_t series() const { return series_; }
  [[nodiscard]] const OpPaint& of_series(std::size_t index) const { return paints_[index]; }
  /// Chunks, or where there are none the directions, that kinds are shaded by; and the fill of forward in one of them.
  [[nodiscard]] int shades() const { return by_kind_.shades(); }
  [[nodiscard]] bool has_chunks() const { return by_kind_.chunks() > 1; }
  /// The paint of a kind that the legend switched off, or of an op that a search left out.
  [[nodiscard]] const OpPaint& dimmed() const { return dimmed_; }
  /// The colour that a pixel of many ops is mixed from: the kind's own colour without shades.
  [[nodiscard]] Rgba kind_fill(OpKind kind) const { return kind_fills_[index_of(kind)]; }
  /// The shortest duration among the first work ops of all kinds: it tells if labels have room for letters.
  [[nodiscard]] Ticks shortest() const { return shortest_; }
  /// The shortest of the first ops of this kind on each rank: it tells if all labels of the kind have room.
  [[nodiscard]] Ticks shortest(OpKind kind) const { return shortest_of_[index_of(kind)]; }
  [[nodiscard]] bool is_hidden(OpKind kind) const { return (key_.hidden_kinds >> index_of(kind) & 1U) != 0; }

 private:
  void make_kinds();
  void make_series();
  void make_slack_ramp();
  void make_tint_ramp();
  void find_shortest(const RunModel& run);
  void look_at_first_ops(const RunModel& run, Rank rank);
  [[nodiscard]] OpPaint paint(draw::Colour fill) const;

  Key key_;
  const Schedule* schedule_;
  draw::OpColours by_kind_;          // the chunk and shade of each op
  std::size_t series_ = 1;           // paints per kind
  std::vector<OpPaint> paints_;      // [kind * series_ + index]
  std::array<OpPaint, 256> ramp_{};  // of slack, or of tints
  OpPaint dimmed_;
  Ticks shortest_ = 0;
  std::array<Ticks, kOpKinds> shortest_of_{};
  unsigned kinds_ = 0;  // bits of those in the schedule
  std::array<Rgba, kOpKinds> kind_fills_{};
};

}  // namespace pipeloom::gui
