// A model by name on a number of devices: seven values on the left, what each schedule makes of them on the right.

#include "gui/model/start/model_sheet.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gui/model/session/command.hpp"
#include "gui/texts.hpp"
#include "gui/widgets.hpp"
#include "sim/io/hardware/hardware_file.hpp"
#include "sim/io/models/find_model.hpp"

namespace pipeloom::gui::views {
namespace {

// Pixels at scale 1.
constexpr float kSheetWidth = 760;
constexpr float kSheetLeft = 260;
constexpr float kSheetLabel = 120;
constexpr float kSheetRows = 300;
constexpr int kMostGpus = 1 << 20;
constexpr int kMostOfGroup = 4096;

/// A label, and the room of the next item to its right.
void begin_row(const char* label) {
  ImGui::AlignTextToFramePadding();
  const float left = ImGui::GetCursorPosX();
  text_item(label);
  ImGui::SameLine(left + kSheetLabel * ImGui::GetFontSize() / 14);
  ImGui::SetNextItemWidth(-1);
}

void name_row(Ui& ui, const char* label, const char* id, std::vector<std::string> names, std::string& name,
              const char* help) {
  // A file has no name among them.
  auto found = std::ranges::find(names, name);
  if (found == names.end()) found = names.insert(names.end(), name);
  int chosen = static_cast<int>(found - names.begin());
  begin_row(label);
  if (choice(ui, id, names, chosen, help)) name = names[static_cast<std::size_t>(chosen)];
}

void count_row(Ui& ui, const char* label, const char* id, int& count, int most, const char* help) {
  begin_row(label);
  number_field(ui, id, count, 1, most, help);
}

ModelChoice draw_values(Ui& ui, ModelChoice choice) {
  name_row(ui, "Model", "model/model", io::model_names(), choice.model, "The models of `pipeloom models`");
  name_row(ui, "Device", "model/hardware", io::hardware_names(), choice.hardware,
           "The devices of `pipeloom hardware`");
  count_row(ui, "GPUs", "model/gpus", choice.gpus, kMostGpus, "All devices: TP x PP x DP");
  count_row(ui, "TP size", "model/tp", choice.tensor, kMostOfGroup, "Ranks that share each layer");
  count_row(ui, "PP size", "model/pp", choice.pipeline, kMostOfGroup,
            "Ranks of the pipeline: they share out the layers");
  count_row(ui, "Sequence length", "model/seq", choice.sequence, kMostGpus, "Tokens of a sample");
  count_row(ui, "Global batch", "model/batch", choice.batch, kMostGpus, "Samples of a step, of all replicas");
  return choice;
}

void draw_line(Ui& ui, ModelSheet& sheet, const ModelLine& line, bool chosen) {
  const float scale = ui.skin.scale;
  const float width = ImGui::GetContentRegionAvail().x;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (selectable(ui, "model/schedule/" + line.schedule, ("##" + line.schedule).c_str(), chosen))
    sheet.name_schedule(line.schedule);
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float name = 170 * scale;
  const float step = 240 * scale;
  const Rgba ink = line.fits ? ui.skin.text : ui.skin.muted;
  put_text(draw, at, ink, fitted(line.schedule, name - 8 * scale));
  put_text(draw, ImVec2(at.x + step - 16 * scale - ImGui::CalcTextSize(line.step.c_str()).x, at.y), ink,
           line.step);
  const float from = line.step.empty() ? name : step;
  const std::string room = fitted(line.room, width - from);
  const bool lacks = !line.fits && !line.step.empty();
  put_text(draw, ImVec2(at.x + from, at.y), lacks ? ui.skin.problem : ink, room);
  if (room != line.room) explain(line.room);
}

void draw_lines(Ui& ui, ModelSheet& sheet) {
  if (!sheet.problem().empty()) {
    problem_text(ui, sheet.problem());
    return note_item(ui, "model/problem");
  }
  if (sheet.pending()) return muted_text(ui, "Computing what each schedule makes of it");
  const std::string chosen = sheet.schedule();
  const std::vector<ModelLine> lines = sheet.lines();
  for (const ModelLine& line : lines) draw_line(ui, sheet, line, line.schedule == chosen);
}

void draw_end(Ui& ui, ModelSheet& sheet) {
  ImGui::BeginDisabled(!sheet.problem().empty() || sheet.pending());
  const bool takes = button(ui, "model/take", ("Show " + sheet.schedule()).c_str(),
                            "It takes the place of the configuration under edit; Ctrl+Z brings that back");
  ImGui::EndDisabled();
  ImGui::SameLine();
  const bool leaves = button(ui, "model/cancel", "Cancel", "Esc");
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  muted_text(ui, sheet.summary());
  note_item(ui, "model/summary");
  const bool escaped = escape_pressed(ui);
  if (takes)
    run_command(ui.session, "take-model");
  else if (leaves || escaped)
    sheet.hide(ui.session);
}

}  // namespace

void model_sheet(Ui& ui) {
  auto& sheet = ui.session.part<ModelSheet>();
  if (!sheet.is_open()) return;
  begin_overlay(ui, "model sheet", kSheetWidth, 0.15F, ImGuiWindowFlags_NoTitleBar);
  ImGui::PushFont(ui.skin.strong);
  text_item("A model, and the schedules that fit");
  ImGui::PopFont();
  const float height = kSheetRows * ui.skin.scale;
  ImGui::BeginChild("values", ImVec2(kSheetLeft * ui.skin.scale, height));
  sheet.choose(ui.session, draw_values(ui, sheet.choice()));
  ImGui::EndChild();
  ImGui::SameLine(0, 16 * ui.skin.scale);
  ImGui::BeginChild("schedules", ImVec2(0, height));
  draw_lines(ui, sheet);
  ImGui::EndChild();
  draw_end(ui, sheet);
  ImGui::End();
}

}  // namespace pipeloom::gui::views
