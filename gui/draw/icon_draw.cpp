#include "gui/draw/icon_draw.hpp"

#include <imgui.h>

#include <algorithm>

namespace pipeloom::gui {
namespace {

/// Size of an icon, as a share of the letters' height.
constexpr float kShareOfFont = 0.6F;
constexpr float kStroke = 0.1F;

}  // namespace

float icon_width() {
  return kShareOfFont * ImGui::GetFontSize();
}

void draw_icon(Icon icon, const ImVec2& middle, Rgba ink) {
  const float r = icon_width() / 2;
  const auto at = [&](float x, float y) { return ImVec2(middle.x + x * r, middle.y + y * r); };
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float width = std::max(1.0F, kStroke * ImGui::GetFontSize());
  const IconShape& shape = shape_of(icon);
  for (const IconArea& one : shape.filled)
    draw.AddQuadFilled(at(one.x0, one.y0), at(one.x1, one.y1), at(one.x2, one.y2), at(one.x3, one.y3), ink);
  for (const IconStroke& one : shape.strokes)
    draw.AddLine(at(one.x0, one.y0), at(one.x1, one.y1), ink, width);
}

}  // namespace pipeloom::gui
