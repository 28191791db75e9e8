#pragma once

// Colours, sizes and fonts of the frame in progress. Views take all of theirs from here.

#include "gui/model/run/run_model.hpp"
#include "gui/platform/platform.hpp"
#include "sim/draw/palette.hpp"

struct ImFont;

namespace pipeloom::gui {

struct Skin {
  bool dark = true;
  /// Multiplies every length in pixels: display scale times the user's.
  float scale = 1;
  ImFont* large = nullptr;   ///< answers
  ImFont* strong = nullptr;  ///< titles
  ImFont* font = nullptr;    ///< the interface's, already sized
  ImFont* small = nullptr;   ///< labels in the chart, axis numbers, heads of groups and columns

  // Surfaces, 0xAABBGGRR.
  Rgba background = 0;  ///< of the chart
  Rgba panel = 0;       ///< of everything else
  Rgba raised = 0;      ///< fields, buttons, the thing under the pointer
  Rgba line = 0;        ///< between panels and around fields
  Rgba row = 0;         ///< the ground of a rank's row: idle time
  Rgba grid = 0;
  Rgba text = 0;
  Rgba muted = 0;
  Rgba faint = 0;     ///< text of little importance
  Rgba accent = 0;    ///< selection, focus
  Rgba critical = 0;  ///< critical path
  Rgba problem = 0;   ///< errors, over the limit
  Rgba good = 0;      ///< better in comparisons
  Rgba memory_line = 0;
  Rgba memory_fill = 0;
  Rgba memory_limit = 0;
};

/// The skin of a theme at a scale; its fonts are null.
[[nodiscard]] Skin make_skin(bool dark, float scale);
/// Opaque.
[[nodiscard]] Rgba to_rgba(draw::Colour colour);
/// The colour, darker on a light ground and lighter on a dark one where its contrast would be below 4.5 : 1.
[[nodiscard]] Rgba legible(Rgba colour, Rgba ground);
/// The colour with an alpha of 0 .. 255.
[[nodiscard]] Rgba with_alpha(Rgba colour, unsigned alpha);

}  // namespace pipeloom::gui
