#include "gui/draw/outdated_draw.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <string>

#include "gui/model/edit/config_model.hpp"
#include "gui/model/session/command.hpp"
#include "gui/param_fields.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui {
namespace {

/// Of 255, as for an edit of the order that leaves no schedule.
constexpr unsigned kCovered = 150;
/// The widest card, at scale 1.
constexpr float kWidestCard = 560;

/// The reason where it belongs to no field; else the field has it, and the card says what is on screen.
std::string words_of(const ConfigModel& config) {
  return config.refusals().empty() ? config.problem() : "The picture is that of the values before.";
}

/// The buttons one after another, on as many lines as they need, and the size that they take where they are only measured.
ImVec2 lay_out_fixes(Ui& ui, const ConfigModel& config, float room, bool drawn) {
  const ImGuiStyle& style = ImGui::GetStyle();
  float x = 0;
  ImVec2 size(0, config.fixes().empty() ? 0 : ImGui::GetFrameHeight());
  std::size_t taken = config.fixes().size();
  for (std::size_t i = 0; i < config.fixes().size(); ++i) {
    const std::string& label = config.fixes()[i].label;
    const float width = ImGui::CalcTextSize(label.c_str()).x + 2 * style.FramePadding.x;
    const bool next_line = x > 0 && x + width > room;
    if (next_line) size.y += ImGui::GetFrameHeightWithSpacing();
    if (next_line) x = 0;
    if (drawn && x > 0) ImGui::SameLine();
    if (drawn && button(ui, fmt::format("params/fix/{}", i), label.c_str(), "Make this change")) taken = i;
    size.x = std::max(size.x, x + width);
    x += width + style.ItemSpacing.x;
  }
  if (taken < config.fixes().size()) run_command(ui.session, "take-fix", std::to_string(taken + 1));
  return size;
}

void draw_card(Ui& ui, const ConfigModel& config, const Box& rows) {
  const float pad = 8 * ui.skin.scale;
  const float room =
      std::clamp(static_cast<float>(rows.width()) - 6 * pad, 1.0F, kWidestCard * ui.skin.scale);
  const std::string words = words_of(config);
  const ImVec2 text = ImGui::CalcTextSize(words.c_str(), nullptr, false, room);
  const ImVec2 fixes = lay_out_fixes(ui, config, room, false);
  const float height = text.y + (fixes.y > 0 ? fixes.y + ImGui::GetStyle().ItemSpacing.y : 0) + 2 * pad;
  const float width = std::max(fixes.x, text.x) + 2 * pad;
  ImGui::SetCursorScreenPos(
      ImVec2(static_cast<float>((rows.x0 + rows.x1) / 2) - width / 2, static_cast<float>(rows.y0) + pad));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(pad, pad));
  ImGui::PushStyleVar(ImGuiStyleVar_ChildRounding, 4 * ui.skin.scale);
  ImGui::PushStyleColor(ImGuiCol_ChildBg, ui.skin.panel);
  ImGui::PushStyleColor(ImGuiCol_Border, ui.skin.problem);
  ImGui::BeginChild("refused values", ImVec2(width, height), true, ImGuiWindowFlags_NoScrollbar);
  ImGui::PopStyleColor(2);
  ImGui::PopStyleVar(2);
  wrapped_text(words);
  (void)lay_out_fixes(ui, config, room, true);
  ImGui::EndChild();
  note_item(ui, "chart/refused-values");
}

}  // namespace

void draw_outdated(Ui& ui, const ChartLayout& layout, ImDrawList& draw) {
  const auto& config = ui.session.part<ConfigModel>();
  const RunModel* run = live_run(ui.session);
  if (!config.outdated()) return;
  Box rows = run == nullptr ? Box{} : layout.rows_of(run->id);
  if (!rows.empty())
    draw.AddRectFilled(ImVec2(static_cast<float>(rows.x0), static_cast<float>(rows.y0)),
                       ImVec2(static_cast<float>(rows.x1), static_cast<float>(rows.y1)),
                       with_alpha(ui.skin.background, kCovered));
  if (rows.empty()) rows = layout.plot;
  if (!config.problem().empty() && !rows.empty()) draw_card(ui, config, rows);
}

}  // namespace pipeloom::gui
