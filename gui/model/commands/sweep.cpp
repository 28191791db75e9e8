// Commands about the result of a sweep.

#include <string>

#include <pipeloom/error.hpp>
#include "gui/model/panels/sweep_model.hpp"
#include "gui/model/session/command.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::gui::commands {

void toggle_sweep_map(Session& session, std::string_view) {
  auto& model = session.part<SweepModel>();
  model.show_map(!model.shows_map());
}

void sweep_point(Session& session, std::string_view text) {
  const auto point = number_in<std::uint64_t>(text);
  if (!point)
    throw InputError(Where{"sweep-point"},
                     "found '" + shortened(text, 40) + "'; allowed is the number of a point, from 0");
  session.part<SweepModel>().open_point(session, *point);
}

}  // namespace pipeloom::gui::commands
