#pragma once

// Colours around pictures, beside those of their surface: one table for the window and for pages.

#include "sim/draw/palette.hpp"

namespace pipeloom::draw {

struct Tokens {
  Colour ground;  ///< background of everything
  Colour panel;   ///< areas on the ground: panels, cards
  Colour raised;  ///< controls on panels: fields, buttons
  Colour line;    ///< between panels
  Colour faint;   ///< text that may be missed
  Colour
      accent;  ///< controls that are chosen, have the focus or can be pressed; >= 4.5 : 1 on ground and panel, as the following
  Colour good;
  Colour bad;
  Colour warning;
};
[[nodiscard]] const Tokens& tokens_of(Theme theme);

}  // namespace pipeloom::draw
