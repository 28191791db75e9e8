#pragma once

// The places of the panels: menu bar on top, status line below, columns left and right, the timelines in the
// middle, a row below them.
// Panels on the right and below the timelines are tabs; those of the left column share its height by weight, and a title click folds one to its
// title. In a narrow window those on the right are tabs of the row below.

#include "gui/ui.hpp"

namespace pipeloom::gui {

/// Draws every open panel, and the overlays on top.
void draw_layout(Ui& ui);

// The frame around the panels: the menu bar on top and the status line below.

/// Height of the menu bar, at scale 1.
inline constexpr float kBarHeight = 36;
/// Menus of the command table's groups, panels to open and close, the field that searches. REQUIRES: within BeginMenuBar.
void draw_menu_bar(Ui& ui);
/// The last message, jobs under way, the time at the pointer, the run's size.
void draw_status_line(Ui& ui);

}  // namespace pipeloom::gui
