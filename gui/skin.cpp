#include "gui/skin.hpp"

#include <cmath>

#include "gui/model/draw/chart_list.hpp"
#include "sim/draw/tokens.hpp"

namespace pipeloom::gui {
namespace {

constexpr Rgba pack(unsigned red, unsigned green, unsigned blue, unsigned alpha = 255) {
  return red | (green << 8U) | (blue << 16U) | (alpha << 24U);
}

}  // namespace

Rgba to_rgba(draw::Colour colour) {
  return pack(colour.red, colour.green, colour.blue);
}

namespace {

draw::Colour to_colour(Rgba rgba) {
  return {static_cast<std::uint8_t>(rgba & 0xFFU), static_cast<std::uint8_t>(rgba >> 8U & 0xFFU),
          static_cast<std::uint8_t>(rgba >> 16U & 0xFFU)};
}

}  // namespace

Rgba legible(Rgba colour, Rgba ground) {
  constexpr double kLegible = 4.5;
  constexpr double kMostPower = 24;
  const draw::Colour on = to_colour(ground);
  const bool darker = draw::contrast(on, {0, 0, 0}) > draw::contrast(on, {255, 255, 255});
  const draw::Colour from = to_colour(colour);
  draw::Colour out = from;
  // A power of each part keeps the hue and makes it stronger.
  for (double power = 1; power <= kMostPower && draw::contrast(out, on) < kLegible; power += 0.25) {
    const auto part = [&](std::uint8_t value) {
      const double share = value / 255.0;
      const double changed = darker ? std::pow(share, power) : 1 - std::pow(1 - share, power);
      return static_cast<std::uint8_t>(std::lround(255 * changed));
    };
    out = {part(from.red), part(from.green), part(from.blue)};
  }
  return to_rgba(out);
}

Rgba with_alpha(Rgba colour, unsigned alpha) {
  return (colour & 0x00FFFFFFU) | (alpha << 24U);
}

Skin make_skin(bool dark, float scale) {
  const ChartInk ink = make_ink(dark);
  const draw::Tokens& tokens = draw::tokens_of(dark ? draw::Theme::Dark : draw::Theme::Light);
  Skin skin;
  skin.dark = dark;
  skin.scale = scale;
  skin.background = ink.background;
  skin.panel = to_rgba(tokens.panel);
  skin.raised = to_rgba(tokens.raised);
  skin.line = to_rgba(tokens.line);
  skin.row = ink.row;
  skin.grid = ink.grid;
  skin.text = ink.text;
  skin.muted = ink.muted;
  skin.faint = legible(to_rgba(tokens.faint), skin.panel);
  skin.accent = ink.accent;
  skin.critical = ink.critical;
  skin.problem = to_rgba(tokens.bad);
  skin.good = ink.good;
  skin.memory_line = ink.memory_line;
  skin.memory_fill = ink.memory_fill;
  skin.memory_limit = ink.memory_limit;
  return skin;
}

}  // namespace pipeloom::gui
