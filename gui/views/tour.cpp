// A short tour: a few hints, one after the other, that never stand in the way.

#include <imgui.h>

#include <iterator>
#include <string>

#include "gui/model/session/palette.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui::views {
namespace {

struct Hint {
  const char* title;
  const char* text;
};
constexpr Hint kHints[] = {
    {"Change a number",
     "The parameters on the left make the schedule. Every change is simulated at once, and Ctrl+Z takes it "
     "back. The "
     "table below them shows what every other schedule would do."},
    {"Move through time",
     "W and S zoom, A and D move, as does Ctrl with the wheel. F centres what is selected, Home shows "
     "everything."},
    {"Find the bubble",
     "Gaps are coloured by their cause. The panel of causes lists the longest; a click goes there, G walks "
     "from one to "
     "the next, and the details say what the rank waits for."},
    {"Find anything",
     "Ctrl+F searches ops (type:B stage:3), Ctrl+Shift+P all commands, and ? shows every key."}};

}  // namespace

void tour(Ui& ui) {
  auto& model = ui.session.part<PaletteModel>();
  if (model.tour < 0) return;
  const Hint& hint = kHints[model.tour];
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float margin = 40 * ui.skin.scale;
  ImGui::SetNextWindowPos(ImVec2(display.x - margin, display.y - margin), ImGuiCond_Always, ImVec2(1, 1));
  ImGui::SetNextWindowSize(ImVec2(360 * ui.skin.scale, 0));
  ImGui::SetNextWindowBgAlpha(1);
  constexpr ImGuiWindowFlags kFlags = ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoMove |
                                      ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoSavedSettings |
                                      ImGuiWindowFlags_NoFocusOnAppearing;
  ImGui::Begin("tour", nullptr, kFlags);
  muted_text(
      ui, std::to_string(model.tour + 1) + " of " + std::to_string(std::size(kHints)) + "   " + hint.title);
  wrapped_text(hint.text);
  const bool last = model.tour + 1 == static_cast<int>(std::size(kHints));
  const bool next = button(ui, "tour/next", last ? "Done" : "Next");
  ImGui::SameLine();
  const bool close = !last && button(ui, "tour/close", "Close");
  ImGui::End();
  if (next) model.tour = last ? -1 : model.tour + 1;
  if (close) model.tour = -1;
}

}  // namespace pipeloom::gui::views
