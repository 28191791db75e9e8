#include "gui/model/commands/menus.hpp"

#include <initializer_list>

#include <pipeloom/error.hpp>

namespace pipeloom::gui {
namespace {

MenuEntry entry(std::string_view id, bool (*on)(const Session&) = nullptr) {
  const Command* command = find_command(id);
  if (command == nullptr) throw InternalError("a menu names an unknown command: " + std::string(id));
  return {command, "", "", on};
}

MenuEntry choice(std::string_view id, const char* argument, const char* title, bool (*on)(const Session&)) {
  MenuEntry out = entry(id, on);
  out.argument = argument;
  out.title = title;
  return out;
}

using Groups = std::initializer_list<std::initializer_list<MenuEntry>>;

/// Groups with a line between each two.
std::vector<MenuEntry> grouped(Groups groups) {
  std::vector<MenuEntry> out;
  for (const auto& group : groups) {
    if (!out.empty()) out.emplace_back();
    out.insert(out.end(), group.begin(), group.end());
  }
  return out;
}

Menu file_menu() {
  return {"File",
          grouped({{entry("new-configuration"), entry("model-sheet"), entry("preset"), entry("open-dialog"),
                    entry("reopen-last")},
                   {entry("save-configuration"), entry("save-workspace"), entry("save-schedule")},
                   {entry("export-dialog"), entry("copy-configuration"), entry("copy-command-line")},
                   {entry("close-run"), entry("quit")}}),
          {}};
}

Menu edit_menu() {
  return {"Edit",
          grouped({{entry("undo"), entry("redo")},
                   {entry("edit-mode"), entry("move-op-earlier"), entry("move-op-later"),
                    entry("delete-weight"), entry("split-group"), entry("join-next")},
                   {entry("apply-remedy"), entry("discard-edits")}}),
          {}};
}

Menu appearance_menu() {
  return {"Appearance",
          grouped({{choice("theme", "dark", "Dark", [](const Session& s) { return s.preferences.dark; }),
                    choice("theme", "light", "Light", [](const Session& s) { return !s.preferences.dark; })},
                   {choice("colours", "default", "Colours: usual",
                           [](const Session& s) { return s.preferences.palette == "default"; }),
                    choice("colours", "colour-blind", "Colours: for all eyes",
                           [](const Session& s) { return s.preferences.palette == "colour-blind"; }),
                    choice("colours", "greyscale", "Colours: grey",
                           [](const Session& s) { return s.preferences.palette == "greyscale"; }),
                    entry("toggle-hatching", [](const Session& s) { return s.preferences.hatching; })},
                   {entry("scale-up"), entry("scale-down")},
                   {entry("toggle-wheel", [](const Session& s) { return s.preferences.wheel_zooms; }),
                    entry("reset-preferences")}}),
          {}};
}

Menu view_menu() {
  return {"View",
          grouped({{entry("fit"), entry("focus-selection"), entry("history-back"), entry("history-forward")},
                   {entry("toggle-critical", [](const Session& s) { return s.view.show_critical; }),
                    entry("toggle-idle", [](const Session& s) { return s.view.show_idle; }),
                    entry("toggle-memory", [](const Session& s) { return s.view.show_memory; }),
                    entry("toggle-memory-track", [](const Session& s) { return s.view.show_memory_track; }),
                    entry("toggle-messages", [](const Session& s) { return s.view.show_messages; }),
                    entry("toggle-arrows", [](const Session& s) { return s.view.show_arrows; }),
                    entry("toggle-minimap", [](const Session& s) { return s.view.show_minimap; })}}),
          {appearance_menu()},
          true};
}

Menu run_menu() {
  return {"Run",
          grouped({{entry("find"), entry("show-suggestion"), entry("use-spare-memory"), entry("take-fix")},
                   {entry("select-largest-gap"), entry("select-cause"), entry("search-ops"),
                    entry("measure-selection")},
                   {entry("toggle-play"), entry("play-steady"), entry("mark"), entry("mark-for-good")},
                   {entry("stop")}}),
          {}};
}

Menu compare_menu() {
  return {"Compare",
          grouped({{entry("snapshot"), entry("compare-with"), entry("open-below")},
                   {entry("next-run"), entry("set-baseline"), entry("toggle-difference")},
                   {entry("explain"), entry("align-clocks")}}),
          {}};
}

Menu help_menu() {
  return {"Help", grouped({{entry("palette"), entry("sheet"), entry("tour")}}), {}};
}

}  // namespace

const std::vector<Menu>& all_menus() {
  static const std::vector<Menu> all = {file_menu(), edit_menu(),    view_menu(),
                                        run_menu(),  compare_menu(), help_menu()};
  return all;
}

}  // namespace pipeloom::gui
