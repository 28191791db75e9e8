// The line below everything: the last message, and the state of the run and its jobs.

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <string>

#include <pipeloom/units.hpp>
#include "gui/layout.hpp"
#include "gui/model/chart/chart_words.hpp"
#include "gui/model/chart/navigation.hpp"
#include "gui/model/edit/config_model.hpp"
#include "gui/model/session/command.hpp"
#include "gui/texts.hpp"
#include "gui/widgets.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::gui {
namespace {

/// The time under the pointer: four digits that change between one pixel and the next are enough.
std::string pointer_text(const Session& session, const RunModel& run, double share) {
  const TimeRange& range = session.view.range;
  const double per = static_cast<double>(ticks_per(run.timeline.unit));
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.6g", (range.start + share * range.length()) / per);
  return fmt::format("{} {}", text.data(), unit_word(run.timeline.unit));
}

/// "run 1 of 2 \xc2\xb7 zbv p=8 m=24 \xc2\xb7 1,152 ops \xc2\xb7 times in ms".
std::string facts(Ui& ui) {
  const Session& session = ui.session;
  std::string text;
  if (const auto progress = session.jobs.progress())
    text += fmt::format("working {:.0f} %   ", std::floor(100 * *progress));
  else if (session.jobs.pending() > 0)
    text += "working   ";
  const RunModel* run = session.active_run();
  if (run == nullptr) return text + "nothing is open";
  constexpr const char* kDot = "  \xc2\xb7  ";
  if (session.runs.size() > 1)
    text += fmt::format("run {} of {}{}", session.active + 1, session.runs.size(), kDot);
  text += run->title + kDot + study::count_text(run->timeline.start.size(), "op");
  if (run->timeline.unit != TimeUnit::Unit)
    text += fmt::format("{}times in {}", kDot, name_of(run->timeline.unit));
  if (const auto share = ui.session.part<Navigation>().pointer_share)
    text += kDot + pointer_text(session, *run, *share);
  return text;
}

/// Hints about keys, in the order in which they are left out where there is no room for all.
struct KeyHint {
  const char* id;
  const char* words;
};
constexpr KeyHint kHints[] = {{"sheet", "keys"},
                              {"snapshot", "snapshot"},
                              {"toggle-critical", "critical path"},
                              {"select-largest-gap", "next gap"}};

/// Keys that are worth knowing, from the right end; as many as there is room for up to `least`.
float draw_hints(const Ui& ui, float right, float top, float least) {
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  ImFont* const font = ui.skin.small;
  const float scale = ui.skin.scale;
  const float y = top + (ImGui::GetFrameHeight() - font->FontSize) / 2;
  for (const KeyHint& hint : kHints) {
    const Command* command = find_command(hint.id);
    if (command == nullptr || command->keys.empty()) continue;
    const std::string key = to_text(command->keys.front());
    const float words = font->CalcTextSizeA(font->FontSize, FLT_MAX, 0, hint.words).x;
    const float letters = font->CalcTextSizeA(font->FontSize, FLT_MAX, 0, key.c_str()).x;
    const float width = words + letters + 26 * scale;
    if (right - width < least) break;
    const float x = right - words;
    put_text(draw, font, ImVec2(x, y), ui.skin.muted, hint.words);
    const ImVec2 cap(x - letters - 14 * scale, y - 1.5F * scale);
    draw.AddRect(cap, ImVec2(x - 6 * scale, y + font->FontSize + 1.5F * scale), ui.skin.line, 3 * scale);
    put_text(draw, font, ImVec2(cap.x + 4 * scale, y), ui.skin.muted, key);
    right -= width;
  }
  return right;
}

/// The last message, unless it is the reason why the values under edit are refused: that is said beside them.
Message shown_message(Session& session) {
  const std::string& refusal = session.part<ConfigModel>().problem();
  return !refusal.empty() && session.message.text == refusal ? Message{} : session.message;
}

}  // namespace

void draw_status_line(Ui& ui) {
  const float scale = ui.skin.scale;
  const float gap = 16 * scale;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float right = ImGui::GetIO().DisplaySize.x - 12 * scale;
  ImGui::GetWindowDrawList()->AddLine(ImVec2(0, at.y), ImVec2(right + gap, at.y), ui.skin.line);
  const Message message = shown_message(ui.session);
  ImGui::SetCursorScreenPos(ImVec2(at.x + 6 * scale, at.y));
  ImGui::AlignTextToFramePadding();
  ImGui::PushStyleColor(ImGuiCol_Text, ui.skin.muted);
  const std::string where = facts(ui);
  text_item(fitted(where, right - at.x - gap));
  ImGui::PopStyleColor();
  note_item(ui, "status/facts");
  if (ui.session.jobs.pending() > 0) explain("Shift+Esc stops what is being computed");
  const float left = ImGui::GetItemRectMax().x + gap;
  const float needed = ImGui::CalcTextSize(message.text.c_str()).x;
  const float end = draw_hints(ui, right, at.y, std::min(left + needed + gap, right));
  ImGui::SameLine();
  ImGui::SetCursorScreenPos(ImVec2(left, at.y));
  ImGui::AlignTextToFramePadding();
  ImGui::PushStyleColor(ImGuiCol_Text, message.kind == MessageKind::Problem ? ui.skin.problem : ui.skin.text);
  text_item(fitted(message.text, std::max(end - gap - left, 1.0F)));
  ImGui::PopStyleColor();
  note_item(ui, "status/message");
  explain(message.text);
}

}  // namespace pipeloom::gui
