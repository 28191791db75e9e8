// Commands that compare runs.

#include <string>

#include <pipeloom/error.hpp>
#include "gui/model/files/open_file.hpp"
#include "gui/model/panels/compare_model.hpp"
#include "gui/model/panels/schedule_table.hpp"
#include "gui/model/session/command.hpp"
#include "schedules/generator.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::gui::commands {
namespace {

bool is_schedule(std::string_view text) {
  try {
    (void)schedules::find(text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

/// Opening the panel that shows the comparison is part of asking for one.
void compare_with(Session& session, std::string_view text) {
  if (text.empty()) throw InputError(Where{"compare-with"}, "name a schedule, such as zb-h1, or a file");
  session.preferences.panels["compare"] = true;
  if (is_schedule(text))
    session.part<ScheduleTable>().tick(session, schedules::find(text).generator->name, true);
  else
    open_path(session, std::string(text), true);
}

void next_run(Session& session, std::string_view) {
  if (!session.runs.empty()) session.active = (session.active + 1) % session.runs.size();
}

void set_baseline(Session& session, std::string_view text) {
  const auto index = number_in<std::size_t>(text);
  if (!index)
    throw InputError(Where{"set-baseline"},
                     "found '" + shortened(text, 40) + "'; allowed is the number of a run, from 0");
  session.part<CompareModel>().set_baseline(session, *index);
}

void toggle_difference(Session& session, std::string_view) {
  auto& compare = session.part<CompareModel>();
  compare.show_difference(session, !compare.shows_difference());
}

void align_clocks(Session& session, std::string_view) {
  session.part<CompareModel>().align_clocks(session);
}

}  // namespace pipeloom::gui::commands
