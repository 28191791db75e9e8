#include "gui/draw/edit_draw.hpp"

#include <imgui.h>

#include <algorithm>
#include <string>

#include "gui/model/edit/chart_pointer.hpp"
#include "gui/model/edit/schedule_editor.hpp"
#include "gui/model/edit/what_if.hpp"
#include "gui/texts.hpp"

namespace pipeloom::gui {
namespace {

/// A dashed line downwards at a time, where the plot shows it.
void draw_ghost(const Ui& ui, const ChartLayout& layout, Ticks time, const Box& box, ImDrawList& draw) {
  const auto x = static_cast<float>(layout.x_of(static_cast<double>(time)));
  if (x < layout.plot.x0 || x > layout.plot.x1) return;
  const float dash = 3 * ui.skin.scale;
  for (auto y = static_cast<float>(box.y0); y < static_cast<float>(box.y1); y += 2 * dash)
    draw.AddLine(ImVec2(x, y), ImVec2(x, std::min(y + dash, static_cast<float>(box.y1))), ui.skin.text,
                 1.5F * ui.skin.scale);
}

void draw_op(const Ui& ui, const ChartLayout& layout, const OpRef& op, Ticks old_end, ImDrawList& draw) {
  const auto box = layout.rect_of(op);
  if (!box) return;
  draw.AddRect(ImVec2(static_cast<float>(box->x0), static_cast<float>(box->y0)),
               ImVec2(static_cast<float>(box->x1), static_cast<float>(box->y1)), ui.skin.accent, 0, 0,
               2 * ui.skin.scale);
  const double reach = 3 * ui.skin.scale;
  draw_ghost(ui, layout, old_end, {box->x0, box->y0 - reach, box->x1, box->y1 + reach}, draw);
}

void note_end(Ui& ui, const ChartLayout& layout) {
  if (!ui.items.recording() || !ui.session.selection.op) return;
  const auto box = layout.rect_of(*ui.session.selection.op);
  if (!box) return;
  const auto x = static_cast<float>(box->x1);
  ui.items.add("chart/end", {x - 2, static_cast<float>(box->y0), x, static_cast<float>(box->y1)});
}

}  // namespace

void draw_what_if(Ui& ui, const ChartLayout& layout, ImDrawList& draw) {
  note_end(ui, layout);
  const auto& pointer = ui.session.part<PointerPart>();
  const auto& what_if = ui.session.part<WhatIf>();
  if (pointer.edge || pointer.drag == PointerPart::Drag::Edge)
    ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
  if (!what_if.held()) return;
  const WhatIf::Shown shown = what_if.shown(ui.session);
  if (!shown.op) return;
  draw_op(ui, layout, *shown.op, shown.old_end, draw);
  const Box rows = layout.rows_of(shown.op->run);
  if (!rows.empty()) draw_ghost(ui, layout, shown.old_span_end, rows, draw);
  if (pointer.drag != PointerPart::Drag::Edge) return;
  ImGui::BeginTooltip();
  for (std::size_t i = 0; i < shown.lines.size(); ++i) {
    ImGui::PushStyleColor(ImGuiCol_Text, i + 1 < shown.lines.size() ? ui.skin.text : ui.skin.muted);
    text_item(shown.lines[i]);
    ImGui::PopStyleColor();
  }
  ImGui::EndTooltip();
}

namespace {

constexpr unsigned kDimmed = 150;

ImVec2 corner(double x, double y) {
  return {static_cast<float>(x), static_cast<float>(y)};
}

/// Draws a text in a box over the rows, at most as wide as they are.
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
  put_wrapped_text(draw, font, at, ui.skin.text, text, wrap);
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
