// Commands of the configuration under edit.

#include <fmt/format.h>

#include <charconv>

#include <pipeloom/error.hpp>
#include "gui/model/edit/config_model.hpp"
#include "gui/model/files/may_replace.hpp"
#include "gui/model/panels/schedule_table.hpp"
#include "sim/base/text_tools.hpp"

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

void take_schedule(Session& session, std::string_view text) {
  auto& model = config(session);
  model.replace(session, with_schedule(with_shape(session, model.assignments()), std::string(text)));
}

/// Counted from 1; the first one if no number is given.
void take_fix(Session& session, std::string_view text) {
  auto& model = config(session);
  std::size_t number = 1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool counted = text.empty() || (error == std::errc() && end == text.data() + text.size());
  if (model.fixes().empty()) throw InputError(Where{"take-fix"}, "there is no suggestion to take");
  if (!counted || number < 1 || number > model.fixes().size())
    throw InputError(Where{"take-fix"}, fmt::format("'{}' is no suggestion; name one of 1 to {}",
                                                    shortened(text, 40), model.fixes().size()));
  model.take_fix(session, number - 1);
}

/// Queues, configuration and stack are changed by the same hands: what was changed last is undone first.
void undo(Session& session, std::string_view) {
  session.part<EditHistory>().undo(session);
}

void redo(Session& session, std::string_view) {
  session.part<EditHistory>().redo(session);
}

void preset(Session& session, std::string_view text) {
  config(session).load_preset(session, std::string(text));
}

void new_configuration(Session& session, std::string_view) {
  config(session).start_anew(session);
}

void save_configuration(Session& session, std::string_view text) {
  const io::Overwrite overwrite = take_force(text);
  config(session).save(session, std::string(text), overwrite);
}

void copy_command_line(Session& session, std::string_view) {
  session.clipboard = command_line(config(session).assignments());
  session.say("copied: " + *session.clipboard);
}

}  // namespace pipeloom::gui::commands
