#include "gui/model/session/command.hpp"

#include <algorithm>

#include <pipeloom/error.hpp>
#include "gui/model/answer/answer.hpp"
#include "gui/model/answer/cursor.hpp"
#include "gui/model/answer/explain_model.hpp"
#include "gui/model/answer/snapshots.hpp"
#include "gui/model/chart/navigation.hpp"
#include "gui/model/chart/roots.hpp"
#include "gui/model/chart/select.hpp"
#include "gui/model/commands/search_box.hpp"
#include "gui/model/edit/config_model.hpp"
#include "gui/model/edit/schedule_editor.hpp"
#include "gui/model/files/file_dialog.hpp"
#include "gui/model/files/quit_question.hpp"
#include "gui/model/find/find_model.hpp"
#include "gui/model/panels/search.hpp"
#include "gui/model/panels/sweep_model.hpp"
#include "gui/model/session/palette.hpp"
#include "gui/model/session/session.hpp"
#include "gui/model/start/model_sheet.hpp"
#include "gui/model/workspace/workspaces.hpp"

namespace pipeloom::gui {

// The functions of commands.def; each file under gui/model/commands defines those of its group.
namespace commands {
#define PIPELOOM_UI_COMMAND(function, title, group, keys, argument) \
  void function(Session& session, std::string_view text);
#define PIPELOOM_UI_CALL(name, title, group, keys, argument, statement)
#define PIPELOOM_UI_HELD_COMMAND(function, title, group, keys) \
  void function(Session& session, std::string_view text);
#include "gui/model/commands/commands.def"
#undef PIPELOOM_UI_COMMAND
#undef PIPELOOM_UI_CALL
#undef PIPELOOM_UI_HELD_COMMAND
}  // namespace commands

namespace {

std::string id_of(std::string_view function) {
  std::string id(function);
  std::replace(id.begin(), id.end(), '_', '-');
  if (id.ends_with('-')) id.pop_back();  // export_: the word alone is C++'s
  return id;
}

/// "w ctrl+plus": chords apart by blanks.
std::vector<Chord> chords_of(std::string_view text) {
  std::vector<Chord> chords;
  while (!text.empty()) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    const auto chord = parse_chord(text.substr(0, blank));
    if (!chord) throw InternalError("commands.def names an unknown key: " + std::string(text));
    chords.push_back(*chord);
    text.remove_prefix(std::min(blank + 1, text.size()));
  }
  return chords;
}

void flip(bool& on) {
  on = !on;
}

std::vector<Command> make_commands() {
  std::vector<Command> all;
#define PIPELOOM_UI_COMMAND(function, title, group, keys, argument) \
  all.push_back({id_of(#function), title, group, chords_of(keys), argument, false, commands::function});
#define PIPELOOM_UI_CALL(name, title, group, keys, argument, statement)        \
  all.push_back({id_of(#name), title, group, chords_of(keys), argument, false, \
                 [](Session& session, [[maybe_unused]] std::string_view text) { statement; }});
#define PIPELOOM_UI_HELD_COMMAND(function, title, group, keys) \
  all.push_back({id_of(#function), title, group, chords_of(keys), "", true, commands::function});
#include "gui/model/commands/commands.def"
#undef PIPELOOM_UI_COMMAND
#undef PIPELOOM_UI_CALL
#undef PIPELOOM_UI_HELD_COMMAND
  return all;
}

const std::vector<Command>& table() {
  static const std::vector<Command> all = make_commands();
  return all;
}

}  // namespace

std::span<const Command> all_commands() {
  return table();
}

const Command* find_command(std::string_view id) {
  const auto found =
      std::find_if(table().begin(), table().end(), [&](const Command& c) { return c.id == id; });
  return found == table().end() ? nullptr : &*found;
}

const Command* command_of(const Chord& chord) {
  for (const Command& command : table())
    if (std::find(command.keys.begin(), command.keys.end(), chord) != command.keys.end()) return &command;
  return nullptr;
}

bool run_command(Session& session, std::string_view id, std::string_view argument) {
  const Command* command = find_command(id);
  if (command == nullptr) return false;
  try {
    command->run(session, argument);
  } catch (const Error& error) {
    session.say(error.line(), MessageKind::Problem);
  }
  return true;
}

}  // namespace pipeloom::gui
