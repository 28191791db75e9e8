// Exporting: content, size, caption, and file.

#include <imgui.h>

#include <algorithm>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include "gui/model/files/export.hpp"
#include "gui/model/files/may_replace.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui::views {
namespace {

constexpr float kExportWidth = 560;
constexpr float kExportLabel = 110;

/// A size that papers, talks and screens ask for.
struct SizeRow {
  const char* name;
  ExportSize size;
};
const std::vector<SizeRow>& size_rows() {
  using enum ExportSize::Unit;
  static const std::vector<SizeRow> rows = {{"automatic", {}},
                                            {"column, 85 mm", {85, 0, Millimetres}},
                                            {"page, 174 mm", {174, 0, Millimetres}},
                                            {"slide, 1920 x 1080", {1920, 1080, Pixels}}};
  return rows;
}

/// A label, and the room of the next item to its right.
void begin_line(const Ui& ui, const char* label) {
  const float left = ImGui::GetCursorPosX();
  ImGui::AlignTextToFramePadding();
  muted_text(ui, label);
  ImGui::SameLine(left + kExportLabel * ui.skin.scale);
  ImGui::SetNextItemWidth(-1);
}

void draw_own_size(Ui& ui, ExportSize& size) {
  static const std::vector<std::string> kUnits = {"pixels", "millimetres"};
  constexpr int kMost = 20'000;
  begin_line(ui, "Unit");
  int unit = size.unit == ExportSize::Unit::Pixels ? 0 : 1;
  if (choice(ui, "export/unit", kUnits, unit, "Pixels of a screen, or a length on paper (300 dots per inch)"))
    size.unit = unit == 0 ? ExportSize::Unit::Pixels : ExportSize::Unit::Millimetres;
  int width = static_cast<int>(size.width);
  int height = static_cast<int>(size.height);
  begin_line(ui, "Width");
  if (number_field(ui, "export/width", width, 0, kMost, "0: from the number of ops")) size.width = width;
  begin_line(ui, "Height");
  if (number_field(ui, "export/height", height, 0, kMost, "0: from the number of ranks"))
    size.height = height;
}

void draw_size(Ui& ui, ExportPart& part) {
  std::vector<std::string> names;
  for (const SizeRow& row : size_rows()) names.emplace_back(row.name);
  names.emplace_back("other");
  const auto found = std::ranges::find(size_rows(), part.options.size, &SizeRow::size);
  const bool other = part.own_size || found == size_rows().end();
  int chosen = other ? static_cast<int>(size_rows().size()) : static_cast<int>(found - size_rows().begin());
  begin_line(ui, "Size");
  if (choice(ui, "export/size", names, chosen, "Automatic: from the numbers of ops and ranks")) {
    part.own_size = static_cast<std::size_t>(chosen) == size_rows().size();
    if (!part.own_size) part.options.size = size_rows()[static_cast<std::size_t>(chosen)].size;
  }
  if (part.own_size) draw_own_size(ui, part.options.size);
}

void draw_theme(Ui& ui, ExportOptions& options) {
  static const std::vector<std::string> kThemes = {"light", "dark", "as in the window"};
  int theme = !options.dark ? 2 : *options.dark ? 1 : 0;
  begin_line(ui, "Colours");
  if (!choice(ui, "export/theme", kThemes, theme, "Paper wants light ones")) return;
  options.dark = theme == 2 ? std::nullopt : std::optional(theme == 1);
}

void write(Ui& ui, ExportPart& part, io::Overwrite overwrite) {
  try {
    part.start(ui.session, part.path, part.options, overwrite);
    part.dialog_open = false;
  } catch (const Error& error) {
    ui.session.say(error.line(), MessageKind::Problem);
  }
}

}  // namespace

void export_dialog(Ui& ui) {
  auto& part = ui.session.part<ExportPart>();
  if (!part.dialog_open) return;
  begin_overlay(ui, "Export", kExportWidth, 0.15F, ImGuiWindowFlags_NoTitleBar);
  ImGui::PushFont(ui.skin.strong);
  ImGui::TextUnformatted("Export a picture or table");
  ImGui::PopFont();
  begin_line(ui, "File");
  (void)live_text_field(ui, "export/path", part.path, "picture.svg, .png, .pdf, or rows.csv");
  const bool entered =
      ImGui::IsItemDeactivated() && ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Enter), false);
  draw_size(ui, part);
  draw_theme(ui, part.options);
  begin_line(ui, "Caption");
  (void)live_text_field(ui, "export/caption", part.options.caption, "Below the picture");
  (void)checkbox(ui, "export/view", "Only what is in view", part.options.view_only,
                 "The time range and the ranks that are on screen");
  if (ui.session.runs.size() > 1)
    (void)checkbox(ui, "export/active", "Only the active run", part.options.active_only,
                   "Else a picture has every run on screen; tables are always of the active one");
  (void)checkbox(ui, "export/marks", "With marks and the cursor", part.options.with_marks,
                 "Lines at their times; notes are below the picture");
  if (ui.session.active_run() != nullptr)
    muted_text(ui, "A picture shows: " + picture_content(ui.session, part.options));
  if (!part.path.empty()) muted_text(ui, "The file is written in " + folder_of(part.path));
  if (button(ui, "export/cancel", "Cancel", "Esc")) part.dialog_open = false;
  ImGui::SameLine();
  if (const auto how =
          write_button(ui, "export", "Write", part.path, part.wrote(part.path), "Enter in the name"))
    write(ui, part, *how);
  else if (entered && !part.path.empty() && (!is_there(part.path) || part.wrote(part.path)))
    write(ui, part, is_there(part.path) ? io::Overwrite::Yes : io::Overwrite::No);
  const bool escaped = ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Escape)) &&
                       !ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup);
  ImGui::End();
  if (escaped) part.dialog_open = false;
}

}  // namespace pipeloom::gui::views
