// The list below the search box: what matches the text that is typed, on top of everything.

#include "gui/model/session/palette.hpp"

#include <imgui.h>

#include <algorithm>
#include <string>

#include "gui/layout.hpp"
#include "gui/texts.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui::views {
namespace {

constexpr float kPaletteWidth = 620;
/// Between the end of the search box and that of the window: the number of ops found.
constexpr float kBeforeEdge = 64;
constexpr std::size_t kPaletteRows = 12;

void draw_entry(Ui& ui, PaletteModel& model, std::size_t i) {
  const PaletteEntry& entry = model.entries()[i];
  const bool chosen = i == model.chosen();
  const std::string label = entry.title + (entry.wants.empty() ? "" : " ...");
  const float width = ImGui::GetContentRegionAvail().x;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const std::string right = entry.keys.empty() ? entry.group : entry.keys;
  const bool clicked = selectable(ui, "palette/entry/" + std::to_string(i), label.c_str(), chosen, false);
  const float x = at.x + width - ImGui::CalcTextSize(right.c_str()).x;
  put_text(*ImGui::GetWindowDrawList(), ImVec2(x, at.y), ui.skin.muted, right);
  if (clicked) model.run(ui.session, i);
}

void draw_entries(Ui& ui, PaletteModel& model) {
  if (model.entries().empty()) return muted_text(ui, "No op, command or setting is called that.");
  const std::size_t n = model.entries().size();
  // The chosen one stays in the middle of a long list.
  const std::size_t first =
      std::min(model.chosen() - std::min(model.chosen(), kPaletteRows / 2), n - std::min(n, kPaletteRows));
  for (std::size_t i = first; i < std::min(first + kPaletteRows, n) && model.is_open(); ++i) {
    draw_entry(ui, model, i);
    // A click may have changed the list.
    if (model.entries().size() != n) break;
  }
}

/// Below the search box, and as far to the right.
void place_list(const Ui& ui) {
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float width = std::min(kPaletteWidth * ui.skin.scale, display.x * 0.9F);
  const float right = display.x - kBeforeEdge * ui.skin.scale;
  ImGui::SetNextWindowPos(ImVec2(std::max(right - width, 0.0F), kBarHeight * ui.skin.scale));
  ImGui::SetNextWindowSize(ImVec2(width, 0));
  ImGui::SetNextWindowBgAlpha(1);
}

/// The list goes where the keyboard has left the field, unless the pointer is about to choose.
bool is_left(PaletteModel& model, bool hovered) {
  constexpr int kPatience = 6;  // a field gets the keyboard a few frames after it is asked
  static int frames = 0;
  frames = model.has_keyboard || hovered || model.cursor_frames > 0 ? 0 : frames + 1;
  return frames > kPatience;
}

}  // namespace

void palette(Ui& ui) {
  auto& model = ui.session.part<PaletteModel>();
  if (!model.is_open()) return;
  place_list(ui);
  constexpr ImGuiWindowFlags kFlags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                      ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoFocusOnAppearing |
                                      ImGuiWindowFlags_NoNav;
  ImGui::Begin("palette", nullptr, kFlags);
  draw_entries(ui, model);
  const bool hovered = ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem);
  ImGui::End();
  if (ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Escape)) || is_left(model, hovered)) model.close();
}

}  // namespace pipeloom::gui::views
