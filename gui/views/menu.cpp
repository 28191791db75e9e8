// The menu bar: a few groups of commands, panels, and the search box at its end.

#include <imgui.h>
#include <imgui_stdlib.h>

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
constexpr float kFieldWidth = 330;
constexpr float kCountWidth = 64;

void draw_command(Ui& ui, const MenuEntry& entry) {
  const Command& command = *entry.command;
  const bool asks = entry.argument.empty() && !command.argument.empty() && !command.argument.starts_with('[');
  const std::string keys = command.keys.empty() ? "" : to_text(command.keys.front());
  const std::string title = entry.title.empty() ? command.title : entry.title;
  const std::string label = title + (asks && !title.ends_with("...") ? " ..." : "");
  const bool on = entry.on != nullptr && entry.on(ui.session);
  const std::string id = "menu/" + command.id + (entry.argument.empty() ? "" : "/" + entry.argument);
  if (menu_item(ui, id, label.c_str(), keys.c_str(), on)) {
    if (asks)
      ui.session.part<PaletteModel>().ask(ui.session, command.id);  // the argument is typed in the palette
    else
      run_command(ui.session, command.id, entry.argument);
  }
}

void draw_panels(Ui& ui) {
  for (const View& view : all_views()) {
    if (!ui.session.panel_defaults.contains(view.id)) continue;
    if (menu_item(ui, std::string("menu/panel/") + view.id, view.title, "", ui.session.panel_open(view.id)))
      run_command(ui.session, "toggle-panel", view.id);
  }
}

void draw_menu(Ui& ui, const Menu& menu) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(8 * ui.skin.scale, 8 * ui.skin.scale));
  const bool open = begin_menu(ui, "menu/" + menu.title, menu.title.c_str());
  if (open) {
    for (const MenuEntry& entry : menu.entries)
      if (entry.command == nullptr)
        ImGui::Separator();
      else
        draw_command(ui, entry);
    if (!menu.inside.empty()) ImGui::Separator();
    for (const Menu& inside : menu.inside) draw_menu(ui, inside);
    const bool panels = menu.panels && begin_menu(ui, "menu/Panels", "Panels");
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

struct FieldState {
  PaletteModel* box;
  bool cursor_to_end;
};

/// Up and down choose instead of moving in the field. A field that gets the keyboard selects its text; here a text that was put there is to be
/// continued.
int on_search_field(ImGuiInputTextCallbackData* data) {
  auto& state = *static_cast<FieldState*>(data->UserData);
  if (data->EventFlag == ImGuiInputTextFlags_CallbackHistory)
    state.box->move(data->EventKey == ImGuiKey_UpArrow ? -1 : 1);
  else if (state.cursor_to_end)
    data->CursorPos = data->SelectionStart = data->SelectionEnd = data->BufTextLen;
  return 0;
}

/// Enter takes the entry that is chosen; with the list closed, it goes to the next match.
void enter(Ui& ui, PaletteModel& box, SearchModel& search) {
  const bool back = ImGui::GetIO().KeyShift;
  const bool of_ops =
      box.is_open() && box.chosen() < box.entries().size() && box.entries()[box.chosen()].id == "search-next";
  if (box.is_open() && !of_ops) return box.run(ui.session, box.chosen());
  box.close();
  search.step(ui.session, !back);
  // Enter leaves the field; the next one is for the next match.
  ui.session.focus_request = "search";
}

/// The field for everything, and its number of ops found.
void draw_field(Ui& ui, PaletteModel& box, SearchModel& search) {
  // A field that has the keyboard takes no other text.
  if (ui.session.focus_request == "palette" && box.has_keyboard) begin_field_anew();
  if (ui.session.focus_request == "search" || ui.session.focus_request == "palette") {
    ImGui::SetKeyboardFocusHere();
    ui.session.focus_request.clear();
  }
  std::string text = box.is_open() ? box.typed() : search.text();
  const std::string before = text;
  const bool wrong = !search.error().empty() && search.text() == text;
  FieldState state{&box, box.cursor_frames > 0};
  if (box.cursor_frames > 0) --box.cursor_frames;
  if (wrong) ImGui::PushStyleColor(ImGuiCol_Text, ui.skin.problem);
  constexpr ImGuiInputTextFlags kFlags = ImGuiInputTextFlags_EnterReturnsTrue |
                                         ImGuiInputTextFlags_CallbackHistory |
                                         ImGuiInputTextFlags_CallbackAlways;
  const bool entered = ImGui::InputTextWithHint("##search", "Search ops, commands, settings", &text, kFlags,
                                                on_search_field, &state);
  if (wrong) ImGui::PopStyleColor();
  note_item(ui, "search/text");
  box.has_keyboard = ImGui::IsItemActive();
  explain(
      wrong
          ? std::string_view(search.error())
          : "Ctrl+F or Ctrl+P. Commands, schedules and fields by name; ops by type stage mb rank chunk slice "
            "step, dur start end slack, critical group, 3F1; or, not, ( ).\n"
            "type:B stage:3   mb:0-3,7  dur>2ms  -type:F.  Enter: next, Shift+Enter: previous");
  if (ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Escape))) return;  // it puts the old text back
  if (text != before) {
    if (text.empty()) search.clear(ui.session);
    box.type(ui.session, text);
  }
  if (entered) enter(ui, box, search);
}

/// The search box at the right end of the bar.
void draw_search(Ui& ui) {
  auto& search = ui.session.part<SearchModel>();
  const float scale = ui.skin.scale;
  const std::string count = count_text(ui.session, search);
  const float width = (kFieldWidth + kCountWidth) * scale + ImGui::GetStyle().ItemSpacing.x;
  const float left = std::max(ImGui::GetCursorPosX(), ImGui::GetWindowWidth() - width);
  ImGui::SetCursorPosX(left);
  // Words are in the middle of the bar by themselves; an item with a frame is put there.
  ImGui::SetCursorPosY((kBarHeight * scale - ImGui::GetFrameHeight()) / 2);
  ImGui::SetNextItemWidth(
      std::max(std::min(kFieldWidth * scale, ImGui::GetWindowWidth() - left - kCountWidth * scale), 1.0F));
  draw_field(ui, ui.session.part<PaletteModel>(), search);
  ImGui::SetCursorPosY(0);  // texts of the bar are in its middle by themselves
  text_item(count);
  note_item(ui, "search/count");
}

}  // namespace

void draw_menu_bar(Ui& ui) {
  ImGui::SetCursorPosX(12 * ui.skin.scale);
  ImGui::PushFont(ui.skin.strong);
  text_item("pipeloom");
  ImGui::PopFont();
  for (const Menu& menu : all_menus()) draw_menu(ui, menu);
  draw_search(ui);
}

}  // namespace pipeloom::gui
