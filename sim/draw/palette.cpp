#include "sim/draw/palette.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/kinds.hpp"

namespace pipeloom::draw {
namespace {

constexpr Colour kBlack{0, 0, 0};
constexpr Colour kWhite{0xff, 0xff, 0xff};

/// [KindRow::colour]
using Kinds = std::array<Colour, kOpKinds>;

// F, B, I, W: Okabe and Ito's blue, orange, reddish purple and bluish green, lighter, so that dark numbers are legible on all of them. The others
// as they have them: vermilion, sky blue, yellow; Tol's "muted" adds indigo and olive.
constexpr Kinds kKindsLight = {Colour{0x2f, 0x7f, 0xc4}, Colour{0xe0, 0xa0, 0x3a}, Colour{0xcc, 0x7f, 0xb0},
                               Colour{0x1f, 0x9d, 0x78}, Colour{0xd5, 0x5e, 0x00}, Colour{0x56, 0xb4, 0xe9},
                               Colour{0xf0, 0xe4, 0x42}, Colour{0x33, 0x22, 0x88}, Colour{0x99, 0x99, 0x33}};
constexpr Kinds kKindsDark = {Colour{0x3f, 0x8e, 0xd0}, Colour{0xe2, 0xa0, 0x3a}, Colour{0xcc, 0x86, 0xb4},
                              Colour{0x2f, 0xa9, 0x85}, Colour{0xd5, 0x5e, 0x00}, Colour{0x56, 0xb4, 0xe9},
                              Colour{0xf0, 0xe4, 0x42}, Colour{0x33, 0x22, 0x88}, Colour{0x99, 0x99, 0x33}};

// F, B, I, W, R, O, L, S, T. Tol's "high contrast" and "bright" schemes, spread in lightness: printed grey, neighbours still differ.
constexpr Kinds kSafeLight = {Colour{0x00, 0x44, 0x88}, Colour{0xdd, 0xaa, 0x33}, Colour{0xbb, 0x55, 0x66},
                              Colour{0x88, 0xcc, 0xee}, Colour{0x66, 0x33, 0x55}, Colour{0x44, 0x99, 0x77},
                              Colour{0xcc, 0xdd, 0xaa}, Colour{0x22, 0x22, 0x66}, Colour{0x99, 0x99, 0x55}};
constexpr Kinds kSafeDark = {Colour{0x3d, 0x82, 0xd0}, Colour{0xee, 0xbb, 0x44}, Colour{0xcc, 0x66, 0x77},
                             Colour{0xaa, 0xdd, 0xf4}, Colour{0x99, 0x66, 0x99}, Colour{0x44, 0xaa, 0x88},
                             Colour{0xdd, 0xee, 0xbb}, Colour{0x77, 0x77, 0xbb}, Colour{0xbb, 0xbb, 0x77}};

constexpr Colour grey(std::uint8_t level) {
  return {level, level, level};
}
constexpr Kinds kGreyLight = {grey(0x46), grey(0x8c), grey(0x6a), grey(0xb4), grey(0x30),
                              grey(0x9e), grey(0xc6), grey(0x20), grey(0x7c)};
constexpr Kinds kGreyDark = {grey(0x7a), grey(0xc4), grey(0x9e), grey(0xee), grey(0x5c),
                             grey(0xb0), grey(0xd8), grey(0x50), grey(0x8e)};

// Tol's "bright" scheme, its grey replaced, for few things; viridis for many.
constexpr std::array<Colour, 8> kSeries = {
    Colour{0x44, 0x77, 0xaa}, Colour{0xcc, 0xbb, 0x44}, Colour{0xaa, 0x33, 0x77}, Colour{0x66, 0xcc, 0xee},
    Colour{0xee, 0x66, 0x77}, Colour{0x22, 0x88, 0x33}, Colour{0xdd, 0x88, 0x33}, Colour{0x77, 0x77, 0x99}};
constexpr std::array<Colour, 9> kRamp = {
    Colour{0x44, 0x01, 0x54}, Colour{0x47, 0x2d, 0x7b}, Colour{0x3b, 0x52, 0x8b},
    Colour{0x2c, 0x72, 0x8e}, Colour{0x21, 0x91, 0x8c}, Colour{0x28, 0xae, 0x80},
    Colour{0x5e, 0xc9, 0x62}, Colour{0xad, 0xdc, 0x30}, Colour{0xfd, 0xe7, 0x25}};

constexpr Surface kLight = {
    .background = kWhite,
    .row = {0xf1, 0xf3, 0xf6},
    .grid = {0xdf, 0xe2, 0xe7},
    .axis = {0x55, 0x5a, 0x63},
    .text = {0x1a, 0x1d, 0x22},
    .muted = {0x5a, 0x62, 0x6e},
    .critical = {0xc0, 0x10, 0x2a},
    .memory_line = {0x4b, 0x52, 0x5e},
    .memory_fill = {0xd5, 0xd9, 0xe0},
    .memory_limit = {0xc0, 0x10, 0x2a},
};
constexpr Surface kDark = {
    .background = {0x14, 0x16, 0x1a},
    .row = {0x1e, 0x21, 0x27},
    .grid = {0x2b, 0x30, 0x38},
    .axis = {0x9a, 0xa2, 0xae},
    .text = {0xe8, 0xea, 0xee},
    .muted = {0x99, 0xa1, 0xad},
    .critical = {0xff, 0x5c, 0x6c},
    .memory_line = {0xb4, 0xbb, 0xc7},
    .memory_fill = {0x3b, 0x41, 0x4c},
    .memory_limit = {0xff, 0x5c, 0x6c},
};

double linear(std::uint8_t channel) {
  const double c = channel / 255.0;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

double luminance(Colour c) {
  return 0.2126 * linear(c.red) + 0.7152 * linear(c.green) + 0.0722 * linear(c.blue);
}

Colour paler(Theme theme, Colour colour, double share) {
  return blend(colour, theme == Theme::Light ? kWhite : kDark.background, share);
}

template <class Value, std::size_t N>
std::optional<Value> named(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Value>(found - names.begin());
}

const Kinds& kinds_of(Palette palette, Theme theme) {
  const bool light = theme == Theme::Light;
  if (palette == Palette::ColourBlind) return light ? kSafeLight : kSafeDark;
  if (palette == Palette::Greyscale) return light ? kGreyLight : kGreyDark;
  return light ? kKindsLight : kKindsDark;
}

constexpr std::array<std::string_view, 2> kThemeNames = {"light", "dark"};
constexpr std::array<std::string_view, 3> kPaletteNames = {"default", "colour-blind", "greyscale"};
constexpr std::array<std::string_view, 4> kColourByNames = {"kind", "stage", "microbatch", "rank"};

}  // namespace

std::optional<Theme> theme_named(std::string_view name) {
  return named<Theme>(kThemeNames, name);
}

std::optional<Palette> palette_named(std::string_view name) {
  return named<Palette>(kPaletteNames, name);
}

std::string_view name_of(ColourBy by) {
  return kColourByNames[static_cast<std::size_t>(by)];
}

std::optional<ColourBy> colour_by_named(std::string_view name) {
  return named<ColourBy>(kColourByNames, name);
}

std::string to_hex(Colour c) {
  return fmt::format("#{:02x}{:02x}{:02x}", c.red, c.green, c.blue);
}

Colour blend(Colour a, Colour b, double share) {
  const auto mix = [share](std::uint8_t from, std::uint8_t to) {
    return static_cast<std::uint8_t>(std::lround(from + (to - from) * share));
  };
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

double contrast(Colour a, Colour b) {
  const auto [darker, lighter] = std::minmax({luminance(a), luminance(b)});
  return (lighter + 0.05) / (darker + 0.05);
}

Colour text_on(Colour fill) {
  return contrast(fill, kWhite) >= contrast(fill, kBlack) ? kWhite : kBlack;
}

Colour pattern_colour(Colour fill) {
  // Away from the text: its contrast to the fill only grows.
  return blend(fill, text_on(fill) == kWhite ? kBlack : kWhite, 0.4);
}

const Surface& surface_of(Theme theme) {
  return theme == Theme::Light ? kLight : kDark;
}

Colour kind_colour(Theme theme, OpKind kind, int shade, int shades, Palette palette) {
  const Colour full = kinds_of(palette, theme)[row_of(kind).colour];
  const int levels = std::clamp(shades, 1, 4);
  if (levels == 1) return full;
  // Two are told apart by less than four are.
  const double most = levels == 2 ? 0.28 : theme == Theme::Light ? 0.55 : 0.45;
  return paler(theme, full, most * (shade % levels) / (levels - 1));
}

Colour series_colour(Theme theme, int index, int count, OpKind kind, Palette palette) {
  Colour base;
  if (count <= static_cast<int>(kSeries.size())) {
    base = kSeries[static_cast<std::size_t>(index) % kSeries.size()];
  } else {
    const double place = static_cast<double>(index) / (count - 1) * (kRamp.size() - 1);
    const auto left = std::min(static_cast<std::size_t>(place), kRamp.size() - 2);
    base = blend(kRamp[left], kRamp[left + 1], place - static_cast<double>(left));
  }
  if (kind != OpKind::Forward) base = paler(theme, base, kind == OpKind::BackwardWeight ? 0.6 : 0.35);
  return palette == Palette::Greyscale ? greyed(base) : base;
}

Colour idle_colour(Theme theme, IdleCause cause, Palette palette) {
  // Warmup, cooldown, imbalance, transfer, queueing, memory.
  constexpr std::array<Colour, kIdleCauses> kHues = {Colour{0x56, 0xb4, 0xe9}, Colour{0x8a, 0x8f, 0x99},
                                                     Colour{0xe8, 0x6a, 0x4a}, Colour{0xb0, 0x7c, 0xd6},
                                                     Colour{0xd6, 0x4f, 0x9a}, Colour{0x7a, 0x9a, 0x3a}};
  const Colour hue = kHues[static_cast<std::size_t>(cause)];
  const Colour pale = theme == Theme::Light ? blend(hue, kWhite, 0.68) : blend(hue, kDark.background, 0.55);
  return palette == Palette::Greyscale ? greyed(pale) : pale;
}

Colour greyed(Colour colour) {
  const auto level = std::lround(0.299 * colour.red + 0.587 * colour.green + 0.114 * colour.blue);
  return grey(static_cast<std::uint8_t>(level));
}

}  // namespace pipeloom::draw
