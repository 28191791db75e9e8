// The menu bar: commands by group, panels, and the search field at its end.

#include <imgui.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "gui/layout.hpp"
#include "gui/model/panels/search.hpp"
#include "gui/model/session/command.hpp"
#include "gui/model/session/palette.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui {
namespace {

/// Of the window's width at scale 1.
constexpr float kFieldWidth = 260;
constexpr float kCountWidth = 84;

struct Menu {
  std::string group;
  std::vector<const Command*> commands;
};

const std::vector<Menu>& menus() {
  static const std::vector<Menu> all = [] {
    std::vector<Menu> made;
    for (const Command& command : all_commands()) {
      auto menu =
          std::find_if(made.begin(), made.end(), [&](const Menu& m) { return m.group == command.group; });
      if (menu == made.end()) menu = made.insert(made.end(), Menu{command.group, {}});
      menu->commands.push_back(&command);
    }
    // Files come first in every program.
    std::stable_partition(made.begin(), made.end(), [](const Menu& m) { return m.group == "File"; });
    return made;
  }();
  return all;
}

void draw_command(Ui& ui, const Command& command) {
  const std::string keys = command.keys.empty() ? "" : to_text(command.keys.front());
  const std::string label = command.title + (command.argument.empty() ? "" : "...");
  if (ImGui::MenuItem(label.c_str(), keys.c_str())) {
    if (command.argument.empty()) {
      run_command(ui.session, command.id);
    } else {
      // What it needs is typed in the palette.
      auto& palette = ui.session.part<PaletteModel>();
      palette.open(ui.session);
      palette.begin(ui.session, command.id + " ");
    }
  }
  note_item(ui, "menu/" + command.id);
}

void draw_panels(Ui& ui) {
  for (const View& view : all_views()) {
    if (!ui.session.panel_defaults.contains(view.id)) continue;
    if (ImGui::MenuItem(view.title, nullptr, ui.session.panel_open(view.id)))
      run_command(ui.session, "toggle-panel", view.id);
    note_item(ui, std::string("menu/panel/") + view.id);
  }
}

void draw_menu(Ui& ui, const Menu& menu) {
  const bool open = ImGui::BeginMenu(menu.group.c_str());
  note_item(ui, "menu/" + menu.group);
  if (!open) return;
  for (const Command* command : menu.commands) draw_command(ui, *command);
  ImGui::EndMenu();
}

std::string count_text(const Session& session, const SearchModel& search) {
  const RunModel* run = session.active_run();
  const Found found = run == nullptr ? nullptr : search.found(run->id);
  if (!found) return search.active() ? "..." : "";
  const auto current = search.current(session);
  return (current ? std::to_string(*current + 1) + " / " : "") + std::to_string(found->size());
}

void draw_search(Ui& ui) {
  auto& search = ui.session.part<SearchModel>();
  const float scale = ui.skin.scale;
  const float width = (kFieldWidth + kCountWidth) * scale;
  ImGui::SetCursorPosX(std::max(ImGui::GetCursorPosX(), ImGui::GetWindowWidth() - width));
  ImGui::SetNextItemWidth(kFieldWidth * scale);
  if (ui.session.focus_request == "search") {
    ImGui::SetKeyboardFocusHere();
    ui.session.focus_request.clear();
  }
  std::string text = search.text();
  const bool wrong = !search.error().empty();
  if (wrong) ImGui::PushStyleColor(ImGuiCol_Text, ui.skin.problem);
  if (live_text_field(ui, "search/text", text, "Search: type:B stage:3 dur>2ms"))
    search.set(ui.session, std::move(text));
  if (wrong) ImGui::PopStyleColor();
  const bool entered =
      ImGui::IsItemDeactivated() && ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Enter), false);
  if (entered) {
    search.step(ui.session, !ImGui::GetIO().KeyShift);
    // Enter leaves the field; the next one is for the next match.
    ui.session.focus_request = "search";
  }
  explain(
      wrong ? std::string_view(search.error())
            : "type stage mb rank chunk slice step, dur start end slack, critical group, 3F1; or, not, ( ).\n"
              "mb:0-3,7  dur>2ms  -type:F.  Enter: next, Shift+Enter: previous");
  ImGui::TextUnformatted(count_text(ui.session, search).c_str());
  note_item(ui, "search/count");
}

}  // namespace

void draw_menu_bar(Ui& ui) {
  for (const Menu& menu : menus()) draw_menu(ui, menu);
  const bool open = ImGui::BeginMenu("Panels");
  note_item(ui, "menu/Panels");
  if (open) {
    draw_panels(ui);
    ImGui::EndMenu();
  }
  draw_search(ui);
}

}  // namespace pipeloom::gui
