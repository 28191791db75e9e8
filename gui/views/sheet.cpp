// All keys on one sheet, made from the table of commands. Typed text leaves only matching keys.

#include <imgui.h>

#include <algorithm>
#include <string>

#include "gui/model/session/palette.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui::views {
namespace {

constexpr int kColumns = 3;

/// An action of the mouse, which is in no table of commands.
struct MouseHint {
  const char* does;
  const char* how;
};
constexpr MouseHint kMouse[] = {{"Zoom at the pointer", "Ctrl+wheel"},
                                {"Scroll the rows", "Wheel"},
                                {"Earlier, later", "Shift+wheel"},
                                {"Move the view", "Right drag"},
                                {"Measure a stretch of time", "Drag"},
                                {"Zoom to a stretch of time", "Alt+drag, drag on the ruler"},
                                {"Select an op or a gap", "Click"},
                                {"Fit an op", "Double click"},
                                {"Hide or show a kind", "Click on the legend"}};

void draw_line(const Ui& ui, const std::string& what, const std::string& keys, float width) {
  const float x = ImGui::GetCursorPosX();
  text_item(what);
  ImGui::SameLine();
  ImGui::SetCursorPosX(std::max(x + width - ImGui::CalcTextSize(keys.c_str()).x, ImGui::GetCursorPosX()));
  ImGui::PushStyleColor(ImGuiCol_Text, ui.skin.accent);
  text_item(keys);
  ImGui::PopStyleColor();
}

void draw_group(Ui& ui, const SheetGroup& group, const std::string& filter, float width) {
  bool headed = false;
  for (const Command* command : group.commands) {
    const std::string keys = keys_text(*command);
    if (fuzzy_score(filter, command->title + " " + keys) == 0) continue;
    if (!headed) muted_text(ui, group.name);
    headed = true;
    draw_line(ui, command->title, keys, width);
    note_item(ui, "sheet/" + command->id);
  }
  if (headed) ImGui::Spacing();
}

void draw_mouse(Ui& ui, const std::string& filter, float width) {
  bool headed = false;
  for (const MouseHint& hint : kMouse) {
    if (fuzzy_score(filter, std::string(hint.does) + " " + hint.how) == 0) continue;
    if (!headed) muted_text(ui, "Mouse");
    headed = true;
    draw_line(ui, hint.does, hint.how, width);
  }
}

/// Groups in columns of about the same length, in the order of the table.
void draw_columns(Ui& ui, const std::string& filter) {
  static const std::vector<SheetGroup> groups = sheet_groups();
  std::size_t lines = std::size(kMouse) + 2;
  for (const SheetGroup& group : groups) lines += group.commands.size() + 2;
  if (!ImGui::BeginTable("keys", kColumns, ImGuiTableFlags_NoSavedSettings | ImGuiTableFlags_BordersInnerV))
    return;
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  std::size_t drawn = 0;
  int column = 1;
  for (const SheetGroup& group : groups) {
    if ((drawn + group.commands.size() / 2) * kColumns >= lines * static_cast<std::size_t>(column) &&
        column < kColumns) {
      ImGui::TableNextColumn();
      ++column;
    }
    draw_group(ui, group, filter, ImGui::GetContentRegionAvail().x);
    drawn += group.commands.size() + 2;
  }
  draw_mouse(ui, filter, ImGui::GetContentRegionAvail().x);
  ImGui::EndTable();
}

}  // namespace

void sheet(Ui& ui) {
  auto& model = ui.session.part<PaletteModel>();
  if (!model.sheet_open) return;
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const ImVec2 size(display.x * 0.86F, display.y * 0.8F);
  ImGui::SetNextWindowPos(ImVec2((display.x - size.x) / 2, (display.y - size.y) / 2));
  ImGui::SetNextWindowSize(size);
  ImGui::SetNextWindowBgAlpha(1);
  constexpr ImGuiWindowFlags kFlags = ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoResize |
                                      ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoSavedSettings;
  bool open = true;
  ImGui::Begin("Keys", &open, kFlags);
  // With the keyboard in the field, Escape closes the sheet and nothing else.
  if (ImGui::IsWindowAppearing()) {
    model.filter.clear();
    ImGui::SetKeyboardFocusHere();
  }
  live_text_field(ui, "sheet/filter", model.filter, "Filter");
  draw_columns(ui, model.filter);
  ImGui::End();
  if (!open || ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Escape))) model.sheet_open = false;
}

}  // namespace pipeloom::gui::views
