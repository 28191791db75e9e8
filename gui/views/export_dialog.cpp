// Exporting: content, size, caption, and file.

#include <imgui.h>

#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include "gui/model/files/export.hpp"
#include "gui/model/files/may_replace.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui::views {
namespace {

constexpr float kExportWidth = 520;

void draw_size(Ui& ui, ExportSize& size) {
  static const std::vector<std::string> kUnits = {"pixels", "millimetres"};
  int unit = size.unit == ExportSize::Unit::Pixels ? 0 : 1;
  if (choice(ui, "export/unit", kUnits, unit, "Pixels of a screen, or a length on paper (300 dots per inch)"))
    size.unit = unit == 0 ? ExportSize::Unit::Pixels : ExportSize::Unit::Millimetres;
  const int most = 20'000;
  int width = static_cast<int>(size.width);
  int height = static_cast<int>(size.height);
  if (number_field(ui, "export/width", width, 0, most, "0: from the number of ops")) size.width = width;
  ImGui::SameLine();
  ImGui::TextUnformatted("wide");
  if (number_field(ui, "export/height", height, 0, most, "0: from the number of ranks")) size.height = height;
  ImGui::SameLine();
  ImGui::TextUnformatted("high");
}

void draw_theme(Ui& ui, ExportOptions& options) {
  static const std::vector<std::string> kThemes = {"colours of the window", "light", "dark"};
  int theme = !options.dark ? 0 : *options.dark ? 2 : 1;
  if (!choice(ui, "export/theme", kThemes, theme, "Pictures for paper want light")) return;
  options.dark = theme == 0 ? std::nullopt : std::optional(theme == 2);
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
  begin_overlay(ui, "Export", kExportWidth, 0.15F, ImGuiWindowFlags_None, &part.dialog_open);
  (void)live_text_field(ui, "export/path", part.path, "picture.svg, .png, .pdf, or rows.csv");
  (void)checkbox(ui, "export/view", "Only what is in view", part.options.view_only,
                 "The time range and the ranks that are on screen");
  if (ui.session.runs.size() > 1)
    (void)checkbox(ui, "export/active", "Only the active run", part.options.active_only,
                   "Else a picture has every run on screen; tables are always of the active one");
  (void)checkbox(ui, "export/marks", "With marks and the cursor", part.options.with_marks,
                 "Lines at their times; notes stand below the picture");
  draw_size(ui, part.options.size);
  draw_theme(ui, part.options);
  (void)live_text_field(ui, "export/caption", part.options.caption, "Caption below the picture");
  if (ui.session.active_run() != nullptr)
    muted_text(ui, "A picture shows: " + picture_content(ui.session, part.options));
  if (!part.path.empty()) muted_text(ui, "The file is written in " + folder_of(part.path));
  if (button(ui, "export/cancel", "Cancel")) part.dialog_open = false;
  ImGui::SameLine();
  if (const auto how = write_button(ui, "export", "Write", part.path, part.wrote(part.path)))
    write(ui, part, *how);
  const bool escaped = ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Escape));
  ImGui::End();
  if (escaped) part.dialog_open = false;
}

}  // namespace pipeloom::gui::views
