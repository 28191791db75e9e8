#pragma once

// Everything that a user can do, as one table: menus, the command palette, the `?` sheet, keys and scripts (`do ID [ARG]`) come
// from it. A command changes the session only; it knows no widget, so tests run it without a window.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/session/keys.hpp"

namespace pipeloom::gui {

struct Session;

struct Command {
  std::string id;           ///< "zoom-in", as scripts and saved files spell it
  std::string title;        ///< "Zoom in"
  std::string group;        ///< "Navigation": heading in palette and sheet
  std::vector<Chord> keys;  ///< any of them runs it, while no text is being typed
  std::string argument;     ///< what `do ID ARG` takes, "" for nothing: "FILE"
  bool repeats = false;     ///< while its key is held, once per frame with Session::frame_seconds
  void (*run)(Session&, std::string_view argument) = nullptr;
};

/// Every command, in the order of commands.def.
[[nodiscard]] std::span<const Command> all_commands();
/// By id; null if there is none.
[[nodiscard]] const Command* find_command(std::string_view id);
/// The command that a chord runs; null if none does.
[[nodiscard]] const Command* command_of(const Chord& chord);

/// Runs a command; an Error becomes the session's message. False if there is no such command.
bool run_command(Session& session, std::string_view id, std::string_view argument = {});

}  // namespace pipeloom::gui
