#pragma once

// Colours of ops, gaps and labels, for light and dark backgrounds.
//
// Op kinds use the hues of four colours of Okabe and Ito's set ("Color Universal Design", 2008), which people with any of the
// common colour vision deficiencies tell apart. Colour is never the only carrier: ops have letters or numbers where
// these fit, and a pattern per kind can be switched on for greyscale prints.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <pipeloom/metrics.hpp>
#include <pipeloom/op.hpp>

namespace pipeloom::draw {

/// An opaque sRGB colour.
struct Colour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  friend bool operator==(Colour, Colour) = default;
};

enum class Theme : std::uint8_t { Light, Dark };
/// "light", "dark".
[[nodiscard]] std::optional<Theme> theme_named(std::string_view name);

/// Colours of kinds, series and gaps: in the hues of Okabe and Ito; "colour-blind", which differ in lightness as well as in hue; greys.
enum class Palette : std::uint8_t { Default, ColourBlind, Greyscale };
/// "default", "colour-blind", "greyscale".
[[nodiscard]] std::optional<Palette> palette_named(std::string_view name);

/// The property of an op that its colour shows.
enum class ColourBy : std::uint8_t { Kind, Stage, Microbatch, Rank };
/// "kind", "stage", "microbatch", "rank".
[[nodiscard]] std::string_view name_of(ColourBy by);
[[nodiscard]] std::optional<ColourBy> colour_by_named(std::string_view name);

/// "#0072b2".
[[nodiscard]] std::string to_hex(Colour colour);
/// `a` with `share` of `b` mixed in, 0 <= share <= 1, channel by channel in sRGB.
[[nodiscard]] Colour blend(Colour a, Colour b, double share);
/// Contrast ratio of WCAG 2.1, 1 (equal) to 21 (black on white).
[[nodiscard]] double contrast(Colour a, Colour b);
/// Black or white, the one with more contrast: at least 4.5 : 1 on every fill.
[[nodiscard]] Colour text_on(Colour fill);

/// The lines and dots of a pattern on this fill: visible, yet the number on top stays legible.
[[nodiscard]] Colour pattern_colour(Colour fill);

/// The colours of everything that is not an op.
struct Surface {
  Colour background;
  Colour row;       ///< background of a rank's ops: idle time without a cause
  Colour grid;      ///< vertical lines at the axis ticks
  Colour axis;      ///< frame and tick marks
  Colour text;      ///< title, rank labels, numbers of the axis; >= 7 : 1 on background
  Colour muted;     ///< captions and small print; >= 4.5 : 1 on background
  Colour critical;  ///< outline of the critical path
  Colour memory_line;
  Colour memory_fill;
  Colour memory_limit;
};
[[nodiscard]] const Surface& surface_of(Theme theme);

/// The colour of kind `kind` for shade `shade` of `shades`: 0 is the full colour, later ones are lighter (light theme) or
/// darker (dark theme). Shades tell chunks, or the directions of a bidirectional schedule, apart; from the fifth on they repeat.
[[nodiscard]] Colour kind_colour(Theme theme, OpKind kind, int shade = 0, int shades = 1,
                                 Palette palette = Palette::Default);

/// Colour `index` of `count` stages, microbatches or ranks: distinct hues up to eight, a ramp of rising lightness
/// (viridis) beyond. Backward ops get the lighter variant, weight gradients the lightest.
[[nodiscard]] Colour series_colour(Theme theme, int index, int count, OpKind kind = OpKind::Forward,
                                   Palette palette = Palette::Default);

/// Pale, so that it never looks like an op.
[[nodiscard]] Colour idle_colour(Theme theme, IdleCause cause, Palette palette = Palette::Default);

/// The grey that is as light.
[[nodiscard]] Colour greyed(Colour colour);

}  // namespace pipeloom::draw
