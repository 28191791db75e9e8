// Commands of the configuration under edit.

#include "gui/model/config_model.hpp"
#include "gui/model/schedule_editor.hpp"
#include "sim/error.hpp"

namespace pipeloom::gui::commands {
namespace {

ConfigModel& config(Session& session) {
  return session.part<ConfigModel>();
}

}  // namespace

void set(Session& session, std::string_view text) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos || blank == 0)
    throw InputError(Where{"set"}, "name a key and its value: set costs.forward 1.5");
  config(session).set(session, std::string(text.substr(0, blank)), std::string(text.substr(blank + 1)));
}

void reset(Session& session, std::string_view text) {
  config(session).reset(session, std::string(text));
}

/// Queues and configuration are edited by the same hands: what was changed last is undone first.
void undo(Session& session, std::string_view) {
  auto& editor = session.part<ScheduleEditor>();
  auto& model = config(session);
  if (editor.can_undo() && (!model.can_undo() || editor.last_edit_at() > model.last_edit_at()))
    editor.undo(session);
  else
    model.undo(session);
}

void redo(Session& session, std::string_view) {
  auto& editor = session.part<ScheduleEditor>();
  auto& model = config(session);
  if (editor.can_redo() && (!model.can_redo() || editor.last_undo_at() > model.last_undo_at()))
    editor.redo(session);
  else
    model.redo(session);
}

void preset(Session& session, std::string_view text) {
  config(session).load_preset(session, std::string(text));
}

void save_configuration(Session& session, std::string_view text) {
  config(session).save(session, std::string(text));
}

void copy_command_line(Session& session, std::string_view) {
  session.clipboard = command_line(config(session).assignments());
  session.say("copied: " + *session.clipboard);
}

}  // namespace pipeloom::gui::commands
