#pragma once

// Icons in the window, as large as the letters around them.

#include "gui/model/draw/icons.hpp"
#include "gui/ui.hpp"

struct ImVec2;

namespace pipeloom::gui {

/// Draws on the window in progress.
void draw_icon(Icon icon, const ImVec2& middle, Rgba ink);
/// The width of an icon.
[[nodiscard]] float icon_width();

}  // namespace pipeloom::gui
