#pragma once

// Values under edit that have no picture: the rows of the run before, dimmed, with the changes that would be legal.

#include "gui/model/chart/chart_layout.hpp"
#include "gui/ui.hpp"

struct ImDrawList;

namespace pipeloom::gui {

/// Dims the rows of the run under edit while they are not of the values that the fields show. Where these are refused, a card over them has the
/// reason, if no single field has it, and a button for each change that would help.
void draw_outdated(Ui& ui, const ChartLayout& layout, ImDrawList& draw);

}  // namespace pipeloom::gui
