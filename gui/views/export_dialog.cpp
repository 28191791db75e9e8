// Exporting, as a sheet: the picture that would be written, and beside it file, format, size, colours and content.

#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include "gui/model/files/export.hpp"
#include "gui/model/files/export_preview.hpp"
#include "gui/model/files/file_dialog.hpp"
#include "gui/model/files/may_replace.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui::views {
namespace {

// Pixels at scale 1.
constexpr float kExportWidth = 560;
constexpr float kExportHeight = 272;
constexpr float kTallExport = 364;  // with fields for width and height
constexpr float kPreviewWidth = 262;
constexpr float kExportLabel = 64;

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

void draw_folder(Ui& ui, ExportPart& part) {
  const std::string folder = folder_of(part.path);
  begin_line(ui, "Folder");
  const float room = ImGui::GetContentRegionAvail().x - 2 * ImGui::GetStyle().FramePadding.x;
  if (button(ui, "export/folder", fitted(folder, room).c_str(), folder + "\nChoose another folder"))
    ui.session.part<FileDialog>().pick_folder(folder, [](Session& session, const std::string& chosen) {
      session.part<ExportPart>().move_to(chosen);
    });
}

/// A format is the name's extension; rare ones are typed.
void draw_format(Ui& ui, ExportPart& part) {
  static const std::vector<std::string> kFormats = {"SVG", "PNG", "PDF", "CSV", "by the name"};
  static const std::vector<std::string> kExtensions = {".svg", ".png", ".pdf", ".csv"};
  const auto found =
      std::ranges::find_if(kExtensions, [&](const std::string& each) { return part.path.ends_with(each); });
  int chosen = static_cast<int>(found - kExtensions.begin());
  begin_line(ui, "Format");
  if (choice(ui, "export/format", kFormats, chosen,
             "SVG and PDF for papers, PNG for slides, CSV for the ops of the active run") &&
      static_cast<std::size_t>(chosen) < kExtensions.size())
    part.take_extension(kExtensions[static_cast<std::size_t>(chosen)]);
}

void draw_content(Ui& ui, ExportPart& part) {
  begin_line(ui, "Caption");
  (void)live_text_field(ui, "export/caption", part.options.caption, "Below the picture");
  (void)checkbox(ui, "export/view", "Only what is in view", part.options.view_only,
                 "The time range and the ranks that are on screen");
  if (ui.session.runs.size() > 1)
    (void)checkbox(ui, "export/active", "Only the active run", part.options.active_only,
                   "Else a picture has every run on screen; tables are always of the active one");
  (void)checkbox(ui, "export/marks", "With marks and the cursor", part.options.with_marks,
                 "Lines at their times; notes are below the picture");
}

void draw_choices(Ui& ui, ExportPart& part) {
  begin_line(ui, "File");
  if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
  (void)live_text_field(ui, "export/path", part.path, "picture.svg, .png, .pdf, or rows.csv");
  draw_folder(ui, part);
  draw_format(ui, part);
  draw_size(ui, part);
  draw_theme(ui, part.options);
  draw_content(ui, part);
}

bool writes_picture(const std::string& path) {
  try {
    return export_format(path).picture != nullptr;
  } catch (const Error&) {
    return false;
  }
}

/// The small picture's texture, as long as the program runs.
struct PreviewTexture {
  std::uintptr_t id = 0;
  std::uint64_t revision = 0;
};

void draw_small_picture(Ui& ui, const ExportPreview& preview, ImVec2 at, ImVec2 room) {
  static PreviewTexture texture;
  const io::DrawnPixels& pixels = *preview.pixels();
  if (texture.id == 0) texture.id = ui.platform.make_texture();
  if (texture.revision != preview.revision())
    ui.platform.set_texture(texture.id, {pixels.width, pixels.height}, pixels.rgba);
  texture.revision = preview.revision();
  const ImVec2 size(static_cast<float>(pixels.width), static_cast<float>(pixels.height));
  const ImVec2 from(std::floor(at.x + (room.x - size.x) / 2), std::floor(at.y + (room.y - size.y) / 2));
  const ImVec2 to(from.x + size.x, from.y + size.y);
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const auto image =
      reinterpret_cast<ImTextureID>(texture.id);  // NOLINT(performance-no-int-to-ptr): its type
  draw.AddImage(image, from, to);
  draw.AddRect(from, to, ui.skin.line);
  ui.items.add("export/preview", {from.x, from.y, to.x, to.y});
}

/// The picture that would be written, and its size.
void draw_preview(Ui& ui, ExportPart& part, float height) {
  auto& preview = ui.session.part<ExportPreview>();
  const float foot = 2 * ImGui::GetTextLineHeightWithSpacing();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 room(ImGui::GetContentRegionAvail().x, std::max(height - foot, 1.0F));
  const bool picture = writes_picture(part.path);
  if (picture) preview.want(ui.session, part.options, static_cast<int>(room.x), static_cast<int>(room.y));
  if (picture && preview.pixels()) draw_small_picture(ui, preview, at, room);
  ImGui::SetCursorScreenPos(ImVec2(at.x, at.y + room.y + ImGui::GetStyle().ItemSpacing.y));
  if (!picture) return muted_text(ui, "Rows of text: one for each op of the active run.");
  if (!preview.problem().empty()) return problem_text(ui, preview.problem());
  const std::string size = preview.size_text().empty() ? "" : preview.size_text() + " \u00b7 ";
  muted_text(ui, size + picture_content(ui.session, part.options));
}

/// Enter writes, unless a button has the keyboard, or another file would be replaced.
bool enters(const Ui& ui, const ExportPart& part) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool pressed = ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Enter), false);
  return pressed && !ui.popup_was_open && !part.folder_was_open && (ui.typing || !io.NavVisible) &&
         !part.path.empty() && (!is_there(part.path) || part.wrote(part.path));
}

void draw_buttons(Ui& ui, ExportPart& part) {
  if (button(ui, "export/cancel", "Cancel", "Esc")) part.dialog_open = false;
  ImGui::SameLine();
  if (const auto how = write_button(ui, "export", "Write", part.path, part.wrote(part.path), "Enter"))
    write(ui, part, *how);
  else if (enters(ui, part))
    write(ui, part, is_there(part.path) ? io::Overwrite::Yes : io::Overwrite::No);
}

}  // namespace

void export_dialog(Ui& ui) {
  auto& part = ui.session.part<ExportPart>();
  if (!part.dialog_open) return;
  begin_overlay(ui, "Export", kExportWidth, 0.15F, ImGuiWindowFlags_NoTitleBar);
  ImGui::PushFont(ui.skin.strong);
  text_item("Export a picture or table");
  ImGui::PopFont();
  const float height = (part.own_size ? kTallExport : kExportHeight) * ui.skin.scale;
  ImGui::BeginChild("preview", ImVec2(kPreviewWidth * ui.skin.scale, height));
  if (ui.session.active_run() != nullptr) draw_preview(ui, part, height);
  ImGui::EndChild();
  ImGui::SameLine(0, 16 * ui.skin.scale);
  ImGui::BeginChild("choices", ImVec2(0, height));
  draw_choices(ui, part);
  ImGui::EndChild();
  draw_buttons(ui, part);
  const bool escaped = escape_pressed(ui) && !part.folder_was_open;
  part.folder_was_open = ui.session.part<FileDialog>().picks_folder();
  ImGui::End();
  if (escaped) part.dialog_open = false;
}

}  // namespace pipeloom::gui::views
