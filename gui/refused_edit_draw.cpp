#include "gui/refused_edit_draw.hpp"

#include <algorithm>
#include <string>

#include "gui/model/edit/schedule_editor.hpp"

namespace pipeloom::gui {
namespace {

constexpr unsigned kDimmed = 150;

ImVec2 corner(double x, double y) {
  return {static_cast<float>(x), static_cast<float>(y)};
}

/// In a box over the rows, as wide as they are at the most.
void draw_words(Ui& ui, const Box& rows, const std::string& text, ImDrawList& draw) {
  const float pad = 8 * ui.skin.scale;
  const float most = std::max(static_cast<float>(rows.width()) - 6 * pad, 1.0F);
  const float wrap = std::min(most, 560 * ui.skin.scale);
  ImFont* font = ui.skin.font;
  const ImVec2 size = font->CalcTextSizeA(font->FontSize, most, wrap, text.c_str());
  const ImVec2 at = corner((rows.x0 + rows.x1) / 2 - size.x / 2, rows.y0 + 2 * pad);
  const ImVec2 a(at.x - pad, at.y - pad);
  const ImVec2 b(at.x + size.x + pad, at.y + size.y + pad);
  draw.AddRectFilled(a, b, ui.skin.panel, 4 * ui.skin.scale);
  draw.AddRect(a, b, ui.skin.problem, 4 * ui.skin.scale);
  draw.AddText(font, font->FontSize, at, ui.skin.text, text.c_str(), nullptr, wrap);
  ui.items.add("chart/refused", {a.x, a.y, b.x, b.y});
}

}  // namespace

void draw_refused_edit(Ui& ui, const ChartLayout& layout, ImDrawList& draw) {
  const auto& editor = ui.session.part<ScheduleEditor>();
  const std::string text = editor.refusal();
  if (text.empty()) return;
  const Box rows = layout.rows_of(editor.shown());
  if (rows.empty()) return;
  draw.AddRectFilled(corner(rows.x0, rows.y0), corner(rows.x1, rows.y1),
                     with_alpha(ui.skin.background, kDimmed));
  for (const OpRef& op : editor.refused_ops())
    if (const auto box = layout.rect_of(op))
      draw.AddRect(corner(box->x0, box->y0), corner(box->x1, box->y1), ui.skin.problem, 0, 0,
                   2 * ui.skin.scale);
  draw_words(ui, rows, text, draw);
}

}  // namespace pipeloom::gui
