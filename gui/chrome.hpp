#pragma once

// What frames the panels: the menu bar on top and the status line below.

#include "gui/ui.hpp"

namespace pipeloom::gui {

/// Menus by group of the command table, and one that opens and closes panels. REQUIRES: within BeginMenuBar.
void draw_menu_bar(Ui& ui);
/// What was said last, jobs under way, the time at the pointer, the run's size.
void draw_status_line(Ui& ui);

}  // namespace pipeloom::gui
