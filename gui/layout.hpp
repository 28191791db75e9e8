#pragma once

// Where the panels are: menu bar on top, status line below, columns left and right, the timelines in the middle, a row below them.
// Panels of a column share its height by weight; a title click folds one to its title.

#include "gui/ui.hpp"

namespace pipeloom::gui {

/// Draws every open panel, and the overlays on top.
void draw_layout(Ui& ui);

}  // namespace pipeloom::gui
