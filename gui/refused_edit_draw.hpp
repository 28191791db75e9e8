#pragma once

// An edit of the order that leaves no schedule: the last picture that is one, dimmed, with the ops in question outlined and why.

#include <imgui.h>

#include "gui/model/chart/chart_layout.hpp"
#include "gui/ui.hpp"

namespace pipeloom::gui {

void draw_refused_edit(Ui& ui, const ChartLayout& layout, ImDrawList& draw);

}  // namespace pipeloom::gui
