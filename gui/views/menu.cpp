// The menu bar: a few groups of commands, panels, and the search field at its end.

#include <imgui.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "gui/layout.hpp"
#include "gui/model/commands/menus.hpp"
#include "gui/model/panels/search.hpp"
#include "gui/model/session/command.hpp"
#include "gui/model/session/palette.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui {
namespace {

/// Widths at scale 1.
constexpr float kFieldWidth = 240;
constexpr float kCountWidth = 64;

void draw_command(Ui& ui, const MenuEntry& entry) {
  const Command& command = *entry.command;
  const bool asks = entry.argument.empty() && !command.argument.empty() && !command.argument.starts_with('[');
  const std::string keys = command.keys.empty() ? "" : to_text(command.keys.front());
  const std::string title = entry.title.empty() ? command.title : entry.title;
  const std::string label = title + (asks && !title.ends_with("...") ? " ..." : "");
  const bool on = entry.on != nullptr && entry.on(ui.session);
  if (ImGui::MenuItem(label.c_str(), keys.c_str(), on)) {
    if (asks)
      ui.session.part<PaletteModel>().ask(ui.session, command.id);  // the argument is typed in the palette
    else
      run_command(ui.session, command.id, entry.argument);
  }
  note_item(ui, "menu/" + command.id + (entry.argument.empty() ? "" : "/" + entry.argument));
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
    for (const MenuEntry& entry : menu.entries)
      if (entry.command == nullptr)
        ImGui::Separator();
      else
        draw_command(ui, entry);
    if (!menu.inside.empty()) ImGui::Separator();
    for (const Menu& inside : menu.inside) draw_menu(ui, inside);
    const bool panels = menu.panels && ImGui::BeginMenu("Panels");
    if (menu.panels) note_item(ui, "menu/Panels");
    if (panels) {
      draw_panels(ui);
      ImGui::EndMenu();
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
  return (current ? std::to_string(*current + 1) + " of " : "") + std::to_string(found->size());
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
  ImGui::SetCursorPosY(0);  // texts of the bar are in its middle by themselves
  ImGui::TextUnformatted(count.c_str());
  note_item(ui, "search/count");
}

}  // namespace

void draw_menu_bar(Ui& ui) {
  ImGui::SetCursorPosX(12 * ui.skin.scale);
  ImGui::PushFont(ui.skin.strong);
  ImGui::TextUnformatted("pipeloom");
  ImGui::PopFont();
  for (const Menu& menu : all_menus()) draw_menu(ui, menu);
  draw_search(ui);
}

}  // namespace pipeloom::gui
