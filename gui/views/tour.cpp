// A short tour: a few hints, one after another, next to their subjects, which are outlined.

#include "gui/model/session/tour.hpp"

#include <imgui.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "gui/model/session/palette.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui::views {
namespace {

// Pixels at scale 1.
constexpr float kCardWidth = 360;
constexpr float kCardHeight = 130;  // about
constexpr float kAway = 12;

/// Makes the frames note where things are while the tour is shown; no other feature may ask for that.
class TourView final : public Part {
 public:
  explicit TourView(Session&) {}

  /// One more frame, where the first one did not know yet where things are.
  bool update(Session&) override { return std::exchange(another_frame_, false); }

  void look(Items& items, bool shown) {
    if (shown && !items.recording()) {
      items.record(true);
      records_ = another_frame_ = true;
    } else if (!shown && std::exchange(records_, false)) {
      items.record(false);
    }
  }

 private:
  bool records_ = false;
  bool another_frame_ = false;
};

void outline(const Ui& ui, const ItemRect& rect) {
  const float out = 3 * ui.skin.scale;
  ImGui::GetForegroundDrawList()->AddRect(ImVec2(rect.x0 - out, rect.y0 - out),
                                          ImVec2(rect.x1 + out, rect.y1 + out), ui.skin.accent,
                                          4 * ui.skin.scale, 0, 2 * ui.skin.scale);
}

/// Below the thing, above it, right or left of it, where the card has room; else over its lower right corner.
ImVec2 card_place(const Ui& ui, const std::optional<ItemRect>& rect) {
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const ImVec2 size(kCardWidth * ui.skin.scale, kCardHeight * ui.skin.scale);
  const float away = kAway * ui.skin.scale;
  const ImVec2 corner(display.x - size.x - 3 * away, display.y - size.y - 5 * away);
  if (!rect) return corner;
  const auto inside = [](float from, float length, float whole, float pad) {
    return std::clamp(from, pad, std::max(whole - length - pad, pad));
  };
  const float x = inside(rect->x0, size.x, display.x, away);
  const float y = inside(rect->y0, size.y, display.y, away);
  if (rect->y1 + away + size.y < display.y) return {x, rect->y1 + away};
  if (rect->y0 - away - size.y > 0) return {x, rect->y0 - away - size.y};
  if (rect->x1 + away + size.x < display.x) return {rect->x1 + away, y};
  if (rect->x0 - away - size.x > 0) return {rect->x0 - away - size.x, y};
  return {rect->x1 - size.x - away, rect->y1 - size.y - away};
}

}  // namespace

void tour(Ui& ui) {
  const int step = ui.session.part<PaletteModel>().tour;
  ui.session.part<TourView>().look(ui.items, step >= 0);
  if (step < 0) return;
  const auto steps = static_cast<int>(tour_steps().size());
  const TourStep& hint = tour_steps()[static_cast<std::size_t>(step)];
  const std::optional<ItemRect> rect = ui.items.find(hint.item);
  if (rect) outline(ui, *rect);
  ImGui::SetNextWindowPos(card_place(ui, rect));
  ImGui::SetNextWindowSize(ImVec2(kCardWidth * ui.skin.scale, 0));
  ImGui::SetNextWindowBgAlpha(1);
  constexpr ImGuiWindowFlags kFlags = ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoMove |
                                      ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoSavedSettings |
                                      ImGuiWindowFlags_NoFocusOnAppearing;
  ImGui::Begin("tour", nullptr, kFlags);
  ImGui::PushFont(ui.skin.strong);
  text_item(hint.title);
  ImGui::PopFont();
  note_item(ui, "tour/title");
  wrapped_text(hint.text);
  const bool last = step + 1 == steps;
  const bool next = button(ui, "tour/next", last ? "Done" : "Next", "Right; Left goes back");
  ImGui::SameLine();
  const bool close = !last && button(ui, "tour/close", "Close", "Esc");
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  muted_text(ui, std::to_string(step + 1) + " of " + std::to_string(steps));
  ImGui::End();
  if (next) move_tour(ui.session, 1);
  if (close) ui.session.part<PaletteModel>().tour = -1;
}

}  // namespace pipeloom::gui::views
