#include "gui/skin.hpp"

#include "gui/model/draw/chart_list.hpp"

namespace pipeloom::gui {
namespace {

constexpr Rgba pack(unsigned red, unsigned green, unsigned blue, unsigned alpha = 255) {
  return red | (green << 8U) | (blue << 16U) | (alpha << 24U);
}

/// 0xRRGGBB, as designs spell it.
constexpr Rgba from_hex(unsigned hex) {
  return pack(hex >> 16U & 0xFFU, hex >> 8U & 0xFFU, hex & 0xFFU);
}

/// What the chart has nothing of: it has no panels.
struct Tokens {
  Rgba panel, raised, line, faint, problem;
};
constexpr Tokens kDark = {from_hex(0x1a1d22), from_hex(0x22262d), from_hex(0x2b3038), from_hex(0x6d7580),
                          from_hex(0xff7b72)};
constexpr Tokens kLight = {from_hex(0xffffff), from_hex(0xeef0f3), from_hex(0xdfe2e7), from_hex(0x868e99),
                           from_hex(0xb02020)};

}  // namespace

Rgba to_rgba(draw::Colour colour) {
  return pack(colour.red, colour.green, colour.blue);
}

Rgba with_alpha(Rgba colour, unsigned alpha) {
  return (colour & 0x00FFFFFFU) | (alpha << 24U);
}

Skin make_skin(bool dark, float scale) {
  const ChartInk ink = make_ink(dark);
  const Tokens& tokens = dark ? kDark : kLight;
  Skin skin;
  skin.dark = dark;
  skin.scale = scale;
  skin.background = ink.background;
  skin.panel = tokens.panel;
  skin.raised = tokens.raised;
  skin.line = tokens.line;
  skin.row = ink.row;
  skin.grid = ink.grid;
  skin.text = ink.text;
  skin.muted = ink.muted;
  skin.faint = tokens.faint;
  skin.accent = ink.accent;
  skin.critical = ink.critical;
  skin.problem = tokens.problem;
  skin.good = ink.good;
  skin.memory_line = ink.memory_line;
  skin.memory_fill = ink.memory_fill;
  skin.memory_limit = ink.memory_limit;
  return skin;
}

}  // namespace pipeloom::gui
