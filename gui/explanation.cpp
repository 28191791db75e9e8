#include "gui/explanation.hpp"

#include <imgui.h>

#include <algorithm>
#include <chrono>
#include <iterator>

#include "gui/texts.hpp"

namespace pipeloom::gui {
namespace {

using Clock = std::chrono::steady_clock;

/// Seconds that the pointer rests on a thing before that is explained.
constexpr double kPointerRest = 0.5;

/// The thing under the pointer, by its corner, and how long the pointer has been there: in frames' time, which scripts make, and by the clock.
struct Rest {
  ImVec2 corner{-1, -1};
  double seconds = 0;
  Clock::time_point since;
  bool shown = true;
};

Rest& rest() {
  static Rest of_pointer;
  return of_pointer;
}

/// Counts the frame; returns true once the thing with this corner has been under the pointer long enough.
bool has_rested(ImVec2 corner) {
  Rest& now = rest();
  const ImGuiIO& io = ImGui::GetIO();
  const bool same = corner.x == now.corner.x && corner.y == now.corner.y;
  if (!same || io.MouseDelta.x != 0 || io.MouseDelta.y != 0) now = {corner, 0, Clock::now(), false};
  now.seconds += static_cast<double>(io.DeltaTime);
  now.shown = now.shown || now.seconds >= kPointerRest;
  return now.shown;
}

/// Below a thing that covers `from` to `to`, or above it where that has no room.
ImVec2 beside(ImVec2 from, ImVec2 to, ImVec2 size) {
  const float away = 6 * ImGui::GetFontSize() / 14;
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float below = to.y + away;
  const float y = below + size.y <= display.y ? below : std::max(from.y - away - size.y, 0.0F);
  return {std::clamp(from.x, 0.0F, std::max(display.x - size.x, 0.0F)), y};
}

}  // namespace

bool hands_are_busy() {
  const ImGuiIO& io = ImGui::GetIO();
  return ImGui::IsAnyMouseDown() || io.WantTextInput ||
         std::any_of(std::begin(io.KeysDown), std::end(io.KeysDown), [](bool down) { return down; });
}

bool explanation_is_due() {
  Rest& now = rest();
  if (now.shown || std::chrono::duration<double>(Clock::now() - now.since).count() < kPointerRest)
    return false;
  now.shown = true;  // once: the thing may be gone
  return true;
}

void explain_place(ImVec2 from, ImVec2 to, std::string_view text) {
  if (text.empty() || !has_rested(from) || hands_are_busy()) return;
  const float wrap = ImGui::GetFontSize() * 28;
  const ImVec2 padding = ImGui::GetStyle().WindowPadding;
  const ImVec2 inside = ImGui::CalcTextSize(text.data(), text.data() + text.size(), false, wrap);
  ImGui::SetNextWindowPos(beside(from, to, {inside.x + 2 * padding.x, inside.y + 2 * padding.y}));
  ImGui::BeginTooltip();
  ImGui::PushTextWrapPos(wrap);
  text_item(text);
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

void explain(std::string_view text) {
  if (text.empty() || !ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled)) return;
  explain_place(ImGui::GetItemRectMin(), ImGui::GetItemRectMax(), text);
}

}  // namespace pipeloom::gui
