// Causes of the difference between a prediction and a measured run, a row for each. Resting on one shows its ops in both runs, a
// click goes to them.

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "gui/model/answer/explain_model.hpp"
#include "gui/model/session/command.hpp"
#include "gui/widgets.hpp"
#include "study/explain/shown/explain_table.hpp"

namespace pipeloom::gui::views {
namespace {

struct ExplainHead {
  const char* title;
  const char* help;
};
constexpr std::array<ExplainHead, 6> kExplainHeads = {
    {{"cause", "Rest on one to see its ops in both runs; a click goes to them"},
     {"amount", "Its part of the difference in step time; all of them sum to it exactly"},
     {"spread", "Standard deviation of the amount: what chance may have done"},
     {"of the step", "The amount as a share of the predicted step"},
     {"alone", "What it does to the predicted step by itself"},
     {"gain if fixed", "How much shorter the measured step would be without it"}}};
constexpr float kExplainPad = 10;

void right_aligned(const std::string& number) {
  const std::string text = with_thin_spaces(number);
  const float room = ImGui::GetContentRegionAvail().x - ImGui::CalcTextSize(text.c_str()).x;
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + std::max(room, 0.0F));
  text_item(text);
}

void draw_heads(Ui& ui) {
  ImGui::TableNextRow();
  for (std::size_t i = 0; i < kExplainHeads.size(); ++i) {
    ImGui::TableNextColumn();
    ImGui::PushFont(ui.skin.small);
    ImGui::PushStyleColor(ImGuiCol_Text, ui.skin.muted);
    i == 0 ? text_item(kExplainHeads[i].title) : right_aligned(kExplainHeads[i].title);
    ImGui::PopStyleColor();
    ImGui::PopFont();
    explain(kExplainHeads[i].help);
  }
}

/// True while the pointer rests on it.
bool draw_cause(Ui& ui, const CauseRow& row, std::size_t n) {
  const std::string id = std::to_string(n);
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  const std::string text = fitted(row.text, ImGui::GetContentRegionAvail().x);
  const bool clicked = selectable(ui, "explain/cause/" + id, text.c_str(), false, true);
  const bool hovered = ImGui::IsItemHovered();
  if (text != row.text) explain(row.text);
  if (clicked) run_command(ui.session, "go-to-cause", id);
  for (const std::string* cell : {&row.amount, &row.spread, &row.share, &row.alone, &row.if_fixed}) {
    ImGui::TableNextColumn();
    right_aligned(*cell);
  }
  return hovered;
}

void draw_causes(Ui& ui, ExplainModel& model) {
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_NoSavedSettings;
  std::optional<std::size_t> hovered;
  ImGui::PushStyleVar(ImGuiStyleVar_CellPadding, ImVec2(kExplainPad * ui.skin.scale / 2, 3 * ui.skin.scale));
  if (ImGui::BeginTable("causes", static_cast<int>(kExplainHeads.size()), kFlags)) {
    ImGui::TableSetupColumn("cause", ImGuiTableColumnFlags_WidthStretch);
    for (std::size_t i = 1; i < kExplainHeads.size(); ++i)
      ImGui::TableSetupColumn(kExplainHeads[i].title, ImGuiTableColumnFlags_WidthFixed);
    draw_heads(ui);
    for (std::size_t n = 0; n < model.rows().size(); ++n)
      if (draw_cause(ui, model.rows()[n], n)) hovered = n;
    ImGui::EndTable();
  }
  ImGui::PopStyleVar();
  model.hover(hovered);
}

void draw_sought(Ui& ui, const ExplainModel& model) {
  if (model.pending()) {
    const auto share = ui.session.jobs.progress();
    muted_text(ui, share ? fmt::format("Looking for causes: {:.0f} %", 100 * *share) : "Looking for causes");
    ImGui::SameLine();
    if (small_button(ui, "explain/stop", "Stop", "Gives it up; what is on screen stays")) ui.session.stop();
    return;
  }
  if (!model.refusal().empty()) problem_text(ui, model.refusal());
  const bool again = !model.refusal().empty();
  if (!model.waits_for_question() && !again) return;
  if (!again)
    wrapped_text("The runs are large: finding the causes takes a while. The window stays free meanwhile.");
  if (button(ui, "explain/ask", again ? "Try again" : "Explain", "Finds the causes in the background"))
    run_command(ui.session, "explain");
}

}  // namespace

void explanation(Ui& ui) {
  auto& model = ui.session.part<ExplainModel>();
  if (model.measured() == 0)
    return muted_text(
        ui,
        "Open a measured run beside a simulated one: a trace, its folder, or a timeline (Ctrl+O with "
        "Shift+Enter, or drop it). What makes the two differ is explained here.");
  if (model.explanation() == nullptr) return draw_sought(ui, model);
  wrapped_text(model.headline());
  note_item(ui, "explain/headline");
  if (model.rows().empty()) return muted_text(ui, "No difference to explain.");
  draw_causes(ui, model);
  for (const std::string& line : study::explain::plain_lines_below(*model.explanation()))
    muted_text(ui, line);
  for (const std::string& line : model.explanation()->warnings) muted_text(ui, line);
}

}  // namespace pipeloom::gui::views
