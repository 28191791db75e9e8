// The command palette: a field and the entries that match it, on top of everything.

#include "gui/model/session/palette.hpp"

#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <string>

#include "gui/texts.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui::views {
namespace {

constexpr float kPaletteWidth = 620;
constexpr std::size_t kPaletteRows = 12;

bool pressed(ImGuiKey key) {
  return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key));
}

struct FieldState {
  PaletteModel* model;
  bool cursor_to_end;
};

/// Up and down choose instead of moving in the field. A field that gets the keyboard selects its text; here the text is to be
/// continued.
int on_palette_field(ImGuiInputTextCallbackData* data) {
  auto& state = *static_cast<FieldState*>(data->UserData);
  if (data->EventFlag == ImGuiInputTextFlags_CallbackHistory)
    state.model->move(data->EventKey == ImGuiKey_UpArrow ? -1 : 1);
  else if (state.cursor_to_end)
    data->CursorPos = data->SelectionStart = data->SelectionEnd = data->BufTextLen;
  return 0;
}

void draw_field(Ui& ui, PaletteModel& model) {
  const bool focus = ui.session.focus_request == "palette" || ImGui::IsWindowAppearing();
  if (focus) {
    ImGui::SetKeyboardFocusHere();
    ui.session.focus_request.clear();
  }
  std::string text = model.typed();
  ImGui::SetNextItemWidth(-1);
  FieldState state{&model, model.cursor_frames > 0};
  if (model.cursor_frames > 0) --model.cursor_frames;
  constexpr ImGuiInputTextFlags kFlags = ImGuiInputTextFlags_EnterReturnsTrue |
                                         ImGuiInputTextFlags_CallbackHistory |
                                         ImGuiInputTextFlags_CallbackAlways;
  const bool entered = ImGui::InputTextWithHint("##palette", "A command, or a schedule", &text, kFlags,
                                                on_palette_field, &state);
  note_item(ui, "palette/text");
  if (text != model.typed()) model.type(ui.session, text);
  if (entered) model.run(ui.session, model.chosen());
}

void draw_entry(Ui& ui, PaletteModel& model, std::size_t i) {
  const PaletteEntry& entry = model.entries()[i];
  const bool chosen = i == model.chosen();
  const std::string label = entry.title + (entry.wants.empty() ? "" : " ...");
  const float width = ImGui::GetContentRegionAvail().x;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const std::string right = entry.keys.empty() ? entry.group : entry.keys;
  const bool clicked = selectable(ui, "palette/entry/" + std::to_string(i), label.c_str(), chosen, false);
  const float x = at.x + width - ImGui::CalcTextSize(right.c_str()).x;
  put_text(*ImGui::GetWindowDrawList(), ImVec2(x, at.y), ui.skin.muted, right);
  if (clicked) model.run(ui.session, i);
}

void draw_entries(Ui& ui, PaletteModel& model) {
  if (model.entries().empty()) return muted_text(ui, "No command is called that.");
  const std::size_t n = model.entries().size();
  // The chosen one stays in the middle of a long list.
  const std::size_t first =
      std::min(model.chosen() - std::min(model.chosen(), kPaletteRows / 2), n - std::min(n, kPaletteRows));
  for (std::size_t i = first; i < std::min(first + kPaletteRows, n) && model.is_open(); ++i) {
    draw_entry(ui, model, i);
    // A click may have changed the list.
    if (model.entries().size() != n) break;
  }
}

}  // namespace

void palette(Ui& ui) {
  auto& model = ui.session.part<PaletteModel>();
  if (!model.is_open()) return;
  if (ui.session.focus_request == "palette") ImGui::SetNextWindowFocus();
  begin_overlay(ui, "palette", kPaletteWidth, 0.12F,
                ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoScrollbar);
  draw_field(ui, model);
  draw_entries(ui, model);
  const bool left = !ImGui::IsWindowFocused() && !ImGui::IsWindowAppearing() && ImGui::IsMouseClicked(0);
  ImGui::End();
  if (pressed(ImGuiKey_Escape) || left) model.close();
}

}  // namespace pipeloom::gui::views
