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

/// Widths at scale 1.
constexpr float kFieldWidth = 240;
constexpr float kCountWidth = 64;

/// A menu, and the group of commands whose heading it has. `groups` follow as menus inside it; `also` are commands of other groups.
struct MenuRow {
  const char* title;
  const char* group;
  std::vector<std::string_view> groups;
  std::vector<std::string_view> also;
};

const std::vector<MenuRow>& menu_rows() {
  static const std::vector<MenuRow> rows = {{"File",
                                             "File",
                                             {},
                                             {"new-configuration", "preset", "save-configuration",
                                              "copy-configuration", "copy-command-line", "quit"}},
                                            {"Edit", "Edit", {}, {"undo", "redo", "set", "reset"}},
                                            {"View",
                                             "View",
                                             {"Navigation"},
                                             {"theme", "colours", "toggle-hatching", "toggle-wheel", "scale",
                                              "scale-up", "scale-down", "reset-preferences"}},
                                            {"Run", "Parameters", {"Find", "Analysis", "Sweep"}, {"stop"}},
                                            {"Compare", "Compare", {}, {}},
                                            {"Help", "Program", {}, {}}};
  return rows;
}

struct Menu {
  std::string title;
  std::vector<const Command*> commands;
  std::vector<Menu> inside;
};

bool stands_elsewhere(const Command& command, const MenuRow& here) {
  for (const MenuRow& row : menu_rows())
    if (&row != &here && std::find(row.also.begin(), row.also.end(), command.id) != row.also.end())
      return true;
  return false;
}

Menu menu_of(const MenuRow& row) {
  Menu menu{row.title, {}, {}};
  for (const Command& command : all_commands())
    if (command.group == row.group && !stands_elsewhere(command, row)) menu.commands.push_back(&command);
  for (const std::string_view id : row.also)
    if (const Command* command = find_command(id);
        command != nullptr &&
        std::find(menu.commands.begin(), menu.commands.end(), command) == menu.commands.end())
      menu.commands.push_back(command);
  for (const std::string_view group : row.groups) {
    Menu inside{std::string(group), {}, {}};
    for (const Command& command : all_commands())
      if (command.group == group && !stands_elsewhere(command, row)) inside.commands.push_back(&command);
    menu.inside.push_back(std::move(inside));
  }
  return menu;
}

/// Every command is in one of them: a group that no row names is a menu inside Run.
const std::vector<Menu>& menus() {
  static const std::vector<Menu> all = [] {
    std::vector<Menu> made;
    std::vector<std::string_view> named;
    for (const MenuRow& row : menu_rows()) {
      made.push_back(menu_of(row));
      named.emplace_back(row.group);
      named.insert(named.end(), row.groups.begin(), row.groups.end());
    }
    for (const Command& command : all_commands()) {
      if (std::find(named.begin(), named.end(), command.group) != named.end()) continue;
      Menu& run = *std::find_if(made.begin(), made.end(), [](const Menu& m) { return m.title == "Run"; });
      if (run.inside.empty() || run.inside.back().title != command.group)
        run.inside.push_back({command.group, {}, {}});
      run.inside.back().commands.push_back(&command);
    }
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
      // The argument is typed in the palette.
      ui.session.part<PaletteModel>().ask(ui.session, command.id);
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
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(8 * ui.skin.scale, 8 * ui.skin.scale));
  const bool open = ImGui::BeginMenu(menu.title.c_str());
  note_item(ui, "menu/" + menu.title);
  if (open) {
    for (const Command* command : menu.commands) draw_command(ui, *command);
    if (!menu.inside.empty()) ImGui::Separator();
    for (const Menu& inside : menu.inside) draw_menu(ui, inside);
    if (menu.title == "View") {
      const bool panels = ImGui::BeginMenu("Panels");
      note_item(ui, "menu/Panels");
      if (panels) {
        draw_panels(ui);
        ImGui::EndMenu();
      }
    }
    ImGui::EndMenu();
  }
  ImGui::PopStyleVar();
}

std::string count_text(const Session& session, const SearchModel& search) {
  const RunModel* run = session.active_run();
  const Found found = run == nullptr ? nullptr : search.found(run->id);
  if (!found) return search.active() ? "..." : "";
  const auto current = search.current(session);
  return (current ? std::to_string(*current + 1) + " / " : "") + std::to_string(found->size());
}

/// The field for ops at the right end, and before it the button for all commands.
void draw_search(Ui& ui) {
  auto& search = ui.session.part<SearchModel>();
  const float scale = ui.skin.scale;
  const ImGuiStyle& style = ImGui::GetStyle();
  const std::string count = count_text(ui.session, search);
  const char* const commands = "Commands  Ctrl P";
  const float button_width = ImGui::CalcTextSize(commands).x + 2 * style.FramePadding.x;
  const float width =
      (kFieldWidth + (count.empty() ? 0 : kCountWidth)) * scale + button_width + 4 * style.ItemSpacing.x;
  ImGui::SetCursorPosX(std::max(ImGui::GetCursorPosX(), ImGui::GetWindowWidth() - width));
  // Words are in the middle of the bar by themselves; an item with a frame is put there.
  ImGui::SetCursorPosY((kBarHeight * scale - ImGui::GetFrameHeight()) / 2);
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 0);
  ImGui::PushStyleColor(ImGuiCol_Text, ui.skin.muted);
  if (button(ui, "menu/commands", commands, "All commands and schedules by name"))
    run_command(ui.session, "palette");
  ImGui::PopStyleColor();
  ImGui::PopStyleVar();
  ImGui::SetNextItemWidth(kFieldWidth * scale);
  if (ui.session.focus_request == "search") {
    ImGui::SetKeyboardFocusHere();
    ui.session.focus_request.clear();
  }
  std::string text = search.text();
  const bool wrong = !search.error().empty();
  if (wrong) ImGui::PushStyleColor(ImGuiCol_Text, ui.skin.problem);
  if (live_text_field(ui, "search/text", text, "Ops: type:B stage:3 dur>2ms"))
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
  ImGui::TextUnformatted(count.c_str());
  note_item(ui, "search/count");
}

}  // namespace

void draw_menu_bar(Ui& ui) {
  ImGui::SetCursorPosX(12 * ui.skin.scale);
  ImGui::PushFont(ui.skin.strong);
  ImGui::TextUnformatted("pipeloom");
  ImGui::PopFont();
  for (const Menu& menu : menus()) draw_menu(ui, menu);
  draw_search(ui);
}

}  // namespace pipeloom::gui
