// The strip of a start without files, over the empty part of the chart: what is shown, and four ways on.

#include "gui/model/start/first_minute.hpp"

#include <imgui.h>

#include <algorithm>
#include <string>

#include "gui/model/chart/chart_part.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui::views {
namespace {

// Pixels at scale 1.
constexpr float kStripHeight = 72;
constexpr float kStripPad = 12;

/// The foot of the last row of the chart.
float foot_of_rows(const ChartLayout& layout) {
  double foot = layout.plot.y0;
  for (const ChartRow& row : layout.rows) foot = std::max(foot, row.all.bottom());
  return static_cast<float>(foot);
}

float width_of_steps(float pad) {
  float width = 0;
  for (const FirstStep& step : first_steps())
    width += ImGui::CalcTextSize(step.label).x + 2 * ImGui::GetStyle().FramePadding.x;
  return width + static_cast<float>(first_steps().size() - 1) * ImGui::GetStyle().ItemSpacing.x + 2 * pad;
}

void draw_steps(Ui& ui) {
  for (std::size_t i = 0; i < first_steps().size(); ++i) {
    const FirstStep& step = first_steps()[i];
    if (i > 0) ImGui::SameLine();
    if (button(ui, std::string("first/") + step.id, step.label, step.help)) FirstMinute::take(ui.session, i);
  }
}

}  // namespace

void first_minute(Ui& ui) {
  const auto& model = ui.session.part<FirstMinute>();
  const ChartLayout& layout = ui.session.part<ChartPart>().layout;
  if (model.sentence().empty() || layout.plot.empty()) return;
  const float scale = ui.skin.scale;
  const float pad = kStripPad * scale;
  const ImVec2 size(std::max(width_of_steps(pad), ImGui::CalcTextSize(model.sentence().c_str()).x + 2 * pad),
                    kStripHeight * scale);
  const float middle = static_cast<float>(layout.plot.x0 + layout.plot.x1) / 2;
  // In the middle of what is empty, and never below the rows' place.
  const auto foot = static_cast<float>(layout.plot.y1);
  const float free = foot - foot_of_rows(layout) - size.y;
  const float top = foot - size.y - std::max(free / 2, 4 * scale);
  ImGui::SetNextWindowPos(ImVec2(std::max(middle - size.x / 2, static_cast<float>(layout.all.x0)), top));
  ImGui::SetNextWindowSize(size);
  ImGui::SetNextWindowBgAlpha(1);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(pad, pad));
  constexpr ImGuiWindowFlags kFlags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                      ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoFocusOnAppearing;
  ImGui::Begin("first minute", nullptr, kFlags);
  ImGui::PopStyleVar();
  text_item(model.sentence());
  note_item(ui, "first/sentence");
  draw_steps(ui);
  ImGui::End();
}

}  // namespace pipeloom::gui::views
