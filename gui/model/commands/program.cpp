// Commands of the program as a whole.

#include <algorithm>
#include <string>

#include <pipeloom/error.hpp>
#include "gui/model/session/command.hpp"
#include "gui/model/session/palette.hpp"
#include "gui/model/session/session.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::gui::commands {
namespace {

constexpr double kSmallest = 0.5;
constexpr double kLargest = 4;
constexpr double kStep = 1.1;

void set_scale(Session& session, double scale) {
  session.preferences.scale = std::clamp(scale, kSmallest, kLargest);
}

double scale_now(const Session& session) {
  return session.preferences.scale > 0 ? session.preferences.scale : 1;
}

}  // namespace

void toggle_panel(Session& session, std::string_view text) {
  const std::string id(text);
  if (!session.panel_defaults.contains(id)) {
    std::vector<std::string> names;
    for (const auto& [name, open] : session.panel_defaults) names.push_back(name);
    throw InputError::unknown_name(Where{"toggle-panel"}, "panel", id, names);
  }
  session.preferences.panels[id] = !session.panel_open(id);
}

void theme(Session& session, std::string_view text) {
  if (!text.empty() && text != "dark" && text != "light")
    throw InputError::unknown_name(Where{"theme"}, "theme", text, {"dark", "light"});
  session.preferences.dark = text.empty() ? !session.preferences.dark : text == "dark";
}

void colours(Session& session, std::string_view text) {
  const std::vector<std::string> names = {"default", "colour-blind", "greyscale"};
  if (std::find(names.begin(), names.end(), text) == names.end())
    throw InputError::unknown_name(Where{"colours"}, "palette", text, names);
  session.preferences.palette = text;
}

void toggle_wheel(Session& session, std::string_view) {
  session.preferences.wheel_zooms = !session.preferences.wheel_zooms;
  session.say(session.preferences.wheel_zooms ? "the wheel zooms" : "the wheel scrolls, with Ctrl it zooms");
}

void scale(Session& session, std::string_view text) {
  const double factor = number_in<double>(text).value_or(0);
  if (!(factor >= kSmallest && factor <= kLargest))
    throw InputError(Where{"scale"},
                     "found '" + shortened(text, 40) + "'; allowed is a factor from 0.5 to 4");
  set_scale(session, factor);
}

void scale_up(Session& session, std::string_view) {
  set_scale(session, scale_now(session) * kStep);
}

void scale_down(Session& session, std::string_view) {
  set_scale(session, scale_now(session) / kStep);
}

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

}  // namespace pipeloom::gui::commands
