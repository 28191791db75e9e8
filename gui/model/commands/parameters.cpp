// Commands of the configuration under edit.

#include <fmt/format.h>

#include <algorithm>

#include <pipeloom/error.hpp>
#include "gui/model/edit/config_model.hpp"
#include "gui/model/files/may_replace.hpp"
#include "gui/model/find/find_model.hpp"
#include "gui/model/panels/schedule_table.hpp"
#include "gui/model/session/command.hpp"
#include "gui/model/session/palette.hpp"
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

/// A row of the table of schedules: of the registry, or one that a search found.
void take_schedule(Session& session, std::string_view text) {
  const auto& rows = session.part<ScheduleTable>().rows();
  if (std::ranges::any_of(rows, [&](const ScheduleRow& row) { return row.found && row.name == text; }))
    return session.part<FindModel>().show(session, text);
  auto& model = config(session);
  model.replace(session, with_schedule(with_shape(session, model.assignments()), std::string(text)));
}

/// Counted from 1; the first one if no number is given.
void take_fix(Session& session, std::string_view text) {
  auto& model = config(session);
  const auto number = text.empty() ? std::size_t{1} : number_in<std::size_t>(text).value_or(0);
  if (model.fixes().empty()) throw InputError(Where{"take-fix"}, "there is no suggestion to take");
  if (number < 1 || number > model.fixes().size())
    throw InputError(Where{"take-fix"}, fmt::format("'{}' is no suggestion; name one of 1 to {}",
                                                    shortened(text, 40), model.fixes().size()));
  model.take_fix(session, number - 1);
}

void save_configuration(Session& session, std::string_view text) {
  // The file's name is asked for, as every command asks for its argument.
  if (text.empty() && config(session).file().empty())
    return session.part<PaletteModel>().ask(session, "save-configuration");
  const io::Overwrite overwrite = take_force(text);
  config(session).save(session, std::string(text), overwrite);
}

void copy_configuration(Session& session, std::string_view) {
  session.clipboard = config_text(config(session).assignments());
  session.say("copied: the configuration, as a file holds it");
}

void copy_command_line(Session& session, std::string_view) {
  session.clipboard = command_line(config(session).assignments());
  session.say("copied: " + *session.clipboard);
}

}  // namespace pipeloom::gui::commands
