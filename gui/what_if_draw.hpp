#pragma once

// An op's end under the pointer, and what a drag of it makes of the run, over the chart.

#include <imgui.h>

#include "gui/model/chart/chart_layout.hpp"
#include "gui/ui.hpp"

namespace pipeloom::gui {

/// The selected op's end is the item "chart/end". The pointer's shape over an op's end; while one is dragged, where op and run ended before, and a text at the pointer.
void draw_what_if(Ui& ui, const ChartLayout& layout, ImDrawList& draw);

}  // namespace pipeloom::gui
