#pragma once

// Edits as the chart shows them: an op's end that is dragged, and an order that is none.

#include "gui/model/chart/chart_layout.hpp"
#include "gui/ui.hpp"

struct ImDrawList;

namespace pipeloom::gui {

/// The selected op's end is the item "chart/end". The pointer's shape over an op's end; while one is dragged, where op and run ended
/// before, and a text at the pointer.
void draw_what_if(Ui& ui, const ChartLayout& layout, ImDrawList& draw);

/// An edit of the order that leaves no schedule: the last picture that is one, dimmed, with the ops in question outlined and why.
void draw_refused_edit(Ui& ui, const ChartLayout& layout, ImDrawList& draw);

}  // namespace pipeloom::gui
