// Opening a file, or choosing a folder: a folder to walk, a filter, the files opened last. The keyboard alone suffices.

#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <string>

#include "gui/model/files/file_dialog.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui::views {
namespace {

constexpr float kDialogWidth = 640;
constexpr float kRows = 16;

/// Up and down choose instead of moving in the field.
int on_field(ImGuiInputTextCallbackData* data) {
  static_cast<FileDialog*>(data->UserData)->step(data->EventKey == ImGuiKey_UpArrow ? -1 : 1);
  return 0;
}

void draw_filter(Ui& ui, FileDialog& dialog) {
  if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
  std::string text = dialog.filter();
  ImGui::SetNextItemWidth(-1);
  const bool entered = ImGui::InputTextWithHint(
      "##filter", "Part of a name, or a path", &text,
      ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_CallbackHistory, on_field, &dialog);
  note_item(ui, "open/filter");
  if (text != dialog.filter()) dialog.set_filter(text);
  if (!entered) return;
  dialog.accept(ui.session, ImGui::GetIO().KeyShift);
  ImGui::SetKeyboardFocusHere(-1);
}

void draw_entries(Ui& ui, FileDialog& dialog) {
  const float height = kRows * ImGui::GetTextLineHeightWithSpacing();
  ImGui::BeginChild("entries", ImVec2(0, height), true);
  const std::string folder = dialog.folder();
  const std::size_t chosen = dialog.chosen();
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(dialog.entries().size()));
  std::size_t clicked = dialog.entries().size();
  while (clipper.Step())
    for (int n = clipper.DisplayStart; n < clipper.DisplayEnd; ++n) {
      const auto i = static_cast<std::size_t>(n);
      const FolderEntry& entry = dialog.entries()[i];
      const std::string label = entry.name + (entry.folder ? "/" : "");
      if (selectable(ui, "open/entry/" + entry.name, label.c_str(), i == chosen)) clicked = i;
    }
  clipper.End();
  ImGui::EndChild();
  if (clicked == dialog.entries().size()) return;
  dialog.choose(clicked);
  if (dialog.picks_folder()) return dialog.enter();
  dialog.accept(ui.session, ImGui::GetIO().KeyShift);
}

void draw_recent(Ui& ui, FileDialog& dialog) {
  if (ui.session.preferences.recent.empty()) return;
  muted_text(ui, "Opened last");
  std::string chosen;
  for (std::size_t i = 0; i < std::min<std::size_t>(ui.session.preferences.recent.size(), 6); ++i)
    if (selectable(ui, "open/recent/" + std::to_string(i), ui.session.preferences.recent[i].c_str(), false))
      chosen = ui.session.preferences.recent[i];
  if (!chosen.empty()) dialog.open_file(ui.session, chosen, ImGui::GetIO().KeyShift);
}

void draw_file_buttons(Ui& ui, FileDialog& dialog) {
  draw_recent(ui, dialog);
  bool all = dialog.shows_all();
  if (checkbox(ui, "open/all", "All files", all, "Hidden ones too, and names that tell nothing"))
    dialog.show_all(all);
  ImGui::SameLine();
  if (button(ui, "open/cancel", "Cancel")) dialog.hide();
  ImGui::SameLine();
  muted_text(ui, "Enter opens; with Shift below what is there, to compare");
}

void draw_folder_buttons(Ui& ui, FileDialog& dialog) {
  if (button(ui, "open/cancel", "Cancel", "Esc")) dialog.hide();
  ImGui::SameLine();
  if (primary_button(ui, "open/take", "Take this folder", "Enter, with nothing typed"))
    dialog.accept_folder(ui.session);
}

}  // namespace

void open_dialog(Ui& ui) {
  auto& dialog = ui.session.part<FileDialog>();
  if (!dialog.is_open()) return;
  begin_overlay(ui, "open file", kDialogWidth, 0.1F, ImGuiWindowFlags_NoTitleBar);
  text_item(dialog.folder());
  draw_filter(ui, dialog);
  draw_entries(ui, dialog);
  if (dialog.picks_folder())
    draw_folder_buttons(ui, dialog);
  else
    draw_file_buttons(ui, dialog);
  const bool escaped = escape_pressed(ui);
  ImGui::End();
  if (escaped) dialog.hide();
}

}  // namespace pipeloom::gui::views
