// Commands that lead to the other commands.

#include "gui/model/session/palette.hpp"

namespace pipeloom::gui::commands {

void palette(Session& session, std::string_view) {
  auto& model = session.part<PaletteModel>();
  if (model.is_open())
    model.close();
  else
    model.open(session);
}

void sheet(Session& session, std::string_view) {
  auto& model = session.part<PaletteModel>();
  model.close();
  model.sheet_open = !model.sheet_open;
}

void tour(Session& session, std::string_view) {
  session.part<PaletteModel>().tour = 0;
}

}  // namespace pipeloom::gui::commands
