#include "gui/skin.hpp"

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
  const draw::Surface& surface = draw::surface_of(dark ? draw::Theme::Dark : draw::Theme::Light);
  Skin skin;
  skin.dark = dark;
  skin.scale = scale;
  skin.background = to_rgba(surface.background);
  skin.row = to_rgba(surface.row);
  skin.grid = to_rgba(surface.grid);
  skin.text = to_rgba(surface.text);
  skin.muted = to_rgba(surface.muted);
  skin.critical = to_rgba(surface.critical);
  skin.memory_line = to_rgba(surface.memory_line);
  skin.memory_fill = to_rgba(surface.memory_fill);
  skin.memory_limit = to_rgba(surface.memory_limit);
  skin.accent = dark ? pack(94, 169, 255) : pack(0, 92, 197);
  skin.problem = dark ? pack(255, 123, 114) : pack(176, 32, 32);
  skin.good = dark ? pack(105, 212, 138) : pack(20, 110, 50);
  return skin;
}

}  // namespace pipeloom::gui
