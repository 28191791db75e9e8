#pragma once

// The menu bar: a few groups of commands a menu. All other commands are in the palette.

#include <string>
#include <string_view>
#include <vector>

#include "gui/model/session/command.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

/// A command in a menu, or a line between two groups, where `command` is null.
struct MenuEntry {
  const Command* command = nullptr;
  std::string argument = {};             ///< to run it with; "" where it takes none, or asks
  std::string title = {};                ///< "Dark": other words than the command's own; ""
  bool (*on)(const Session&) = nullptr;  ///< it has a check mark while this holds; null: it never has
};

struct Menu {
  std::string title;
  std::vector<MenuEntry> entries;
  std::vector<Menu> inside;
  bool panels = false;  ///< a list of all panels is a menu inside
};

/// The most entries of a menu, menus inside included.
inline constexpr std::size_t kMostInMenu = 14;

[[nodiscard]] const std::vector<Menu>& all_menus();

}  // namespace pipeloom::gui
