#include "gui/platform/tab_order.hpp"

#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace pipeloom::gui {
namespace {

struct Stop {
  ImGuiID id = 0;
  ImGuiWindow* window = nullptr;
  ImGuiID scope = 0;
  ImRect rect;
  bool takes_text = false;
};

/// The stops of the frame in progress and of the one before, of the one ImGui context.
struct Order {
  const ImGuiContext* context = nullptr;
  int moves = 0;       ///< asked for and not yet done
  ImGuiID wanted = 0;  ///< is to have the keyboard
  std::vector<Stop> now;
  std::vector<Stop> before;
};

Order& order() {
  static Order all;
  if (all.context != ImGui::GetCurrentContext()) all = {ImGui::GetCurrentContext(), 0, 0, {}, {}};
  return all;
}

ImGuiID current_scope([[maybe_unused]] const ImGuiWindow& window) {
#if IMGUI_VERSION_NUM < 18900
  return window.DC.NavFocusScopeIdCurrent;
#else
  return ImGui::GetCurrentContext()->CurrentFocusScopeId;
#endif
}

void focus(const Stop& stop) {
  ImGuiContext& context = *ImGui::GetCurrentContext();
  if (context.ActiveId != 0) ImGui::ClearActiveID();
  ImGui::FocusWindow(stop.window);
  const ImVec2 origin = stop.window->Pos;
  const ImRect inside(stop.rect.Min.x - origin.x, stop.rect.Min.y - origin.y, stop.rect.Max.x - origin.x,
                      stop.rect.Max.y - origin.y);
  ImGui::SetNavID(stop.id, ImGuiNavLayer_Main, stop.scope, inside);
  ImGui::ScrollToRect(stop.window, stop.rect, ImGuiScrollFlags_KeepVisibleEdgeY);
  // The keyboard has moved: its frame is shown, and the pointer's hover is not until it moves.
  context.NavDisableHighlight = false;
  context.NavDisableMouseHover = true;
  if (!stop.takes_text) return;
  context.NavNextActivateId = stop.id;
  context.NavNextActivateFlags = ImGuiActivateFlags_PreferInput;
}

/// The window of the popup on top; null if none is open.
const ImGuiWindow* open_popup() {
  const ImGuiContext& context = *ImGui::GetCurrentContext();
  return context.OpenPopupStack.empty() ? nullptr : context.OpenPopupStack.back().Window;
}

void move_focus(std::vector<Stop>& stops, int moves) {
  const ImGuiContext& context = *ImGui::GetCurrentContext();
  if (const ImGuiWindow* popup = open_popup())
    stops.erase(
        std::remove_if(stops.begin(), stops.end(),
                       [&](const Stop& stop) { return stop.window->RootWindow != popup->RootWindow; }),
        stops.end());
  if (stops.empty()) return;
  const ImGuiID focused = context.ActiveId != 0 ? context.ActiveId : context.NavId;
  const auto count = static_cast<std::ptrdiff_t>(stops.size());
  const auto found =
      std::find_if(stops.begin(), stops.end(), [&](const Stop& stop) { return stop.id == focused; });
  // If no stop has the keyboard, the first step forward goes to the first stop, and a step back to the last.
  const std::ptrdiff_t from = found != stops.end() ? found - stops.begin() : (moves > 0 ? -1 : 0);
  const std::ptrdiff_t to = ((from + moves) % count + count) % count;
  focus(stops[static_cast<std::size_t>(to)]);
}

}  // namespace

void begin_tab_order() {
  Order& all = order();
  std::swap(all.before, all.now);
  all.now.clear();
  if (all.moves != 0) move_focus(all.before, std::exchange(all.moves, 0));
  if (all.wanted == 0) return;
  const auto found = std::ranges::find(all.before, std::exchange(all.wanted, 0), &Stop::id);
  if (found != all.before.end()) focus(*found);
}

void note_tab_stop() {
  const ImGuiLastItemData& item = ImGui::GetCurrentContext()->LastItemData;
  if (item.ID == 0 || (item.InFlags & ImGuiItemFlags_Disabled) != 0) return;
  ImGuiWindow& window = *ImGui::GetCurrentWindow();
  order().now.push_back(
      {item.ID, &window, current_scope(window), item.Rect, (item.InFlags & ImGuiItemFlags_Inputable) != 0});
}

void release_keyboard() {
  ImGui::ClearActiveID();
}

void focus_last_item() {
  order().wanted = ImGui::GetCurrentContext()->LastItemData.ID;
}

void move_tab_focus(bool backwards) {
  order().moves += backwards ? -1 : 1;
}

}  // namespace pipeloom::gui
