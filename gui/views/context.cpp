// The menu of the thing that was clicked with the right button.

#include <imgui.h>

#include <string>

#include "gui/model/commands/context_menu.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui::views {
namespace {

constexpr const char* kPopup = "##context";

/// State of the view that lasts between frames: the menu that it has opened.
struct ContextShown final : Part {
  explicit ContextShown(Session&) {}
  std::uint64_t opened = 0;
};

void draw_entries(Ui& ui, ContextMenu& menu) {
  if (!menu.title().empty()) {
    muted_text(ui, menu.title());
    ImGui::Separator();
  }
  for (std::size_t i = 0; i < menu.entries().size(); ++i) {
    const ContextEntry& entry = menu.entries()[i];
    const Command& command = *entry.command;
    const std::string label = command.title + (entry.asks ? "..." : "");
    const std::string keys = command.keys.empty() ? "" : to_text(command.keys.front());
    if (menu_item(ui, "context/" + command.id, label.c_str(), keys.c_str())) return menu.run(ui.session, i);
  }
}

}  // namespace

void context(Ui& ui) {
  auto& menu = ui.session.part<ContextMenu>();
  if (!menu.target()) return;
  auto& shown = ui.session.part<ContextShown>();
  if (shown.opened != menu.opened()) {
    shown.opened = menu.opened();
    ImGui::OpenPopup(kPopup);
  }
  const float pad = 8 * ui.skin.scale;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(pad, pad));
  if (ImGui::BeginPopup(kPopup)) {
    draw_entries(ui, menu);
    ImGui::EndPopup();
  } else {
    menu.close();
  }
  ImGui::PopStyleVar();
}

}  // namespace pipeloom::gui::views
