// The line below everything: what was said last, and where things stand.

#include <fmt/format.h>
#include <imgui.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include <pipeloom/units.hpp>
#include "gui/layout.hpp"
#include "gui/model/chart/navigation.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui {
namespace {

/// The time under the pointer: four digits that change between one pixel and the next are enough.
std::string pointer_text(const Session& session, const RunModel& run, double share) {
  const TimeRange& range = session.view.range;
  const double per = static_cast<double>(ticks_per(run.timeline.unit));
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.6g", (range.start + share * range.length()) / per);
  const std::string unit(run.timeline.unit == TimeUnit::Unit ? "" : name_of(run.timeline.unit));
  return text.data() + (unit.empty() ? unit : " " + unit);
}

std::string facts(Ui& ui) {
  const Session& session = ui.session;
  std::string text;
  if (const auto progress = session.jobs.progress())
    text += fmt::format("working {:.0f}%   ", std::floor(100 * *progress));
  else if (session.jobs.pending() > 0)
    text += "working   ";
  const RunModel* run = session.active_run();
  if (run == nullptr) return text + "nothing is open";
  if (const auto share = ui.session.part<Navigation>().pointer_share)
    text += "t = " + pointer_text(session, *run, *share) + "   ";
  text += run->title + "   " + std::to_string(run->timeline.start.size()) + " ops";
  if (session.runs.size() > 1)
    text += "   run " + std::to_string(session.active + 1) + " of " + std::to_string(session.runs.size());
  return text;
}

}  // namespace

void draw_status_line(Ui& ui) {
  const std::string right = facts(ui);
  const float width = ImGui::CalcTextSize(right.c_str()).x;
  const float room = ImGui::GetIO().DisplaySize.x - 12 * ui.skin.scale;
  const float x = ImGui::GetCursorPosX();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const Message& message = ui.session.message;
  ImGui::AlignTextToFramePadding();
  ImGui::PushClipRect(at, ImVec2(at.x + room - width - 12 * ui.skin.scale, ImGui::GetIO().DisplaySize.y),
                      true);
  ImGui::PushStyleColor(ImGuiCol_Text, message.kind == MessageKind::Problem ? ui.skin.problem : ui.skin.text);
  ImGui::TextUnformatted(message.text.c_str());
  ImGui::PopStyleColor();
  note_item(ui, "status/message");
  explain(message.text);
  ImGui::PopClipRect();
  ImGui::SameLine();
  ImGui::SetCursorPosX(x + room - width);
  ImGui::PushStyleColor(ImGuiCol_Text, ui.skin.muted);
  ImGui::TextUnformatted(right.c_str());
  ImGui::PopStyleColor();
  note_item(ui, "status/facts");
  if (ui.session.jobs.pending() > 0) explain("Shift+Esc stops what is being computed");
}

}  // namespace pipeloom::gui
