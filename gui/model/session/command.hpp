#pragma once

// Everything that a user can do, as one table: menus, the command palette, the `?` sheet, keys and scripts (`do ID [ARG]`) come
// from it. A command changes the session only; it knows no widget, so tests run it without a window.

#include <charconv>
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
  std::string argument;     ///< the argument that `do ID ARG` takes, "" for none: "FILE"
  bool repeats = false;     ///< while its key is held, once per frame with Session::frame_seconds
  void (*run)(Session&, std::string_view argument) = nullptr;
};

/// The number that all of `text` is, as arguments of commands have it. No value for any other text.
template <class T>
[[nodiscard]] std::optional<T> number_in(std::string_view text) {
  T number = {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}
/// The same for an int that is not negative.
[[nodiscard]] inline std::optional<int> count_in(std::string_view text) {
  const auto number = number_in<int>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

/// Every command, in the order of commands.def.
[[nodiscard]] std::span<const Command> all_commands();
/// The command with this id; null if there is none.
[[nodiscard]] const Command* find_command(std::string_view id);
/// The command that a chord runs; null if none does.
[[nodiscard]] const Command* command_of(const Chord& chord);

/// Runs a command; an Error becomes the session's message. False if there is no such command.
bool run_command(Session& session, std::string_view id, std::string_view argument = {});

}  // namespace pipeloom::gui
