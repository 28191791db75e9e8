// Problems: diagnostics, which rank waits for which, the steps around the standstill, the moves that would help, and PyTorch's verdict.

#include "gui/model/panels/problems.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <string>

#include "gui/model/chart/chart_words.hpp"
#include "gui/model/session/command.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui::views {
namespace {

std::string line_of(const Problem& problem) {
  return fmt::format("{}{}", problem.place.empty() ? "" : problem.place + ": ", problem.message);
}

void draw_problem(Ui& ui, Problems& problems, std::size_t i, bool whole) {
  const Problem& problem = problems.report().problems[i];
  const ImVec2 at = ImGui::GetCursorPos();
  const float width = std::max(ImGui::GetContentRegionAvail().x, 1.0F);
  const std::string line = whole ? line_of(problem) : fitted(line_of(problem), width);
  const float height = ImGui::CalcTextSize(line.c_str(), nullptr, false, whole ? width : -1).y;
  ImGui::PushID(static_cast<int>(i));
  if (ImGui::Selectable("##problem", false, 0, ImVec2(0, height))) (void)problems.select(ui.session, i);
  ImGui::PopID();
  note_item(ui, fmt::format("problems/{}", i));
  explain(fmt::format("[{}] {}", problem.code, line_of(problem)));
  ImGui::SetCursorPos(at);
  const bool error = problem.kind == Problem::Kind::Error;
  ImGui::PushStyleColor(ImGuiCol_Text, error ? ui.skin.problem : ui.skin.text);
  wrapped_text(line);
  ImGui::PopStyleColor();
}

/// A few are shown whole; of many each has a line, without its middle where that is too long, in a list that scrolls.
void draw_list(Ui& ui, Problems& problems) {
  const std::size_t count = problems.report().problems.size();
  constexpr std::size_t kFew = 6;
  if (count <= kFew) {
    for (std::size_t i = 0; i < count; ++i) draw_problem(ui, problems, i, true);
    return;
  }
  constexpr float kInSight = 9;
  ImGui::BeginChild("list", ImVec2(0, kInSight * ImGui::GetTextLineHeightWithSpacing()));
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(count));
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
      draw_problem(ui, problems, static_cast<std::size_t>(i), false);
  clipper.End();
  ImGui::EndChild();
}

/// The ranks that wait, the cycle first; many ranks are cut short, as in `pipeloom validate`.
void draw_waits(Ui& ui, const ProblemReport& report) {
  if (report.waits.empty()) return;
  constexpr std::size_t kShown = 16;
  ImGui::Separator();
  text_item("Who waits for whom");
  for (std::size_t i = 0; i < std::min(report.waits.size(), kShown); ++i) {
    wrapped_text(report.waits[i]);
    note_item(ui, fmt::format("problems/wait/{}", i));
  }
  if (report.waits.size() > kShown)
    muted_text(ui, fmt::format("... and {} more ranks", report.waits.size() - kShown));
}

void draw_grid(Ui& ui, const HangGrid& grid) {
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_NoSavedSettings | ImGuiTableFlags_BordersInner |
                                     ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_ScrollX;
  const float height = static_cast<float>(grid.cells.size() + 2) * ImGui::GetTextLineHeightWithSpacing();
  ImGui::Separator();
  text_item("The last steps, every entry one step long");
  if (!ImGui::BeginTable("steps", static_cast<int>(grid.ranks.size()) + 1, kFlags, ImVec2(0, height))) return;
  ImGui::TableSetupColumn("step");
  for (const Rank rank : grid.ranks) ImGui::TableSetupColumn(fmt::format("rank {}", rank.value()).c_str());
  table_heads();
  for (std::size_t row = 0; row < grid.cells.size(); ++row) {
    const bool failing = row + 1 == grid.cells.size();
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    text_item(failing ? "stuck" : std::to_string(grid.first_step + row));
    for (const std::string& cell : grid.cells[row]) {
      ImGui::TableNextColumn();
      if (failing && !cell.empty())
        problem_text(ui, cell + "?");
      else
        text_item(cell);
    }
  }
  ImGui::EndTable();
  note_item(ui, "problems/grid");
}

void draw_remedy(Ui& ui, const ProblemReport& report) {
  if (report.waits.empty()) return;
  ImGui::Separator();
  if (!report.setting.empty()) {
    wrapped_text("It runs with " + report.setting);
    const std::size_t equals = report.setting.find('=');
    if (button(ui, "problems/set", "Set it", "Changes the configuration") && equals != std::string::npos)
      run_command(ui.session, "set",
                  report.setting.substr(0, equals) + " " + report.setting.substr(equals + 1));
    return;
  }
  if (report.repairs.empty())
    return muted_text(ui, "No change of up to three entries was found that lets it run.");
  text_item("It runs if you");
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < report.repairs.size(); ++i) {
    const Repair& repair = report.repairs[i];
    for (const std::string& words : repair.words) wrapped_text(words);
    note_item(ui, i == 0 ? "problems/remedy" : fmt::format("problems/remedy/{}", i));
    if (button(ui, i == 0 ? "problems/apply" : fmt::format("problems/apply/{}", i), "Apply",
               "Edits the schedule; Ctrl+Z takes it back"))
      chosen = i + 1;
    if (!repair.step) continue;
    ImGui::SameLine();
    muted_text(ui, fmt::format("step {}", duration_text(*repair.step, report.unit)));
  }
  // Last: an edit ends the report that is being drawn.
  if (chosen != 0) run_command(ui.session, "apply-remedy", std::to_string(chosen));
}

}  // namespace

void problems(Ui& ui) {
  auto& model = ui.session.part<Problems>();
  const ProblemReport& report = model.report();
  if (model.pending()) muted_text(ui, "looking ...");
  if (report.problems.empty())
    muted_text(ui, ui.session.active_run() == nullptr ? "Nothing is open." : "Nothing is wrong.");
  else
    draw_list(ui, model);
  draw_remedy(ui, report);
  draw_waits(ui, report);
  if (report.grid) draw_grid(ui, *report.grid);
  if (!report.page.empty()) {
    ImGui::Separator();
    wrapped_text(report.page);
    note_item(ui, "problems/page");
  }
}

}  // namespace pipeloom::gui::views
