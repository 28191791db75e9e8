#include "gui/skin.hpp"

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
  skin.faint = to_rgba(tokens.faint);
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
