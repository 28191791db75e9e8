#pragma once

// One field of the parameters panel: the widget that fits the type of a configuration key, its help, and where its value comes from.

#include <string>

#include "gui/model/edit/config_model.hpp"
#include "gui/ui.hpp"
#include "sim/io/config/key.hpp"

namespace pipeloom::gui {

/// Label and widget of a key; changes go to the ConfigModel at once. `stages` is how many entries a table per stage has.
void draw_field(Ui& ui, const io::Key& key, int stages);

/// The run of the configuration under edit; null until there is one.
[[nodiscard]] const RunModel* live_run(const Session& session);

/// The text for a key such as "ranks" on hover: help, unit, default, and the source of the present value.
[[nodiscard]] std::string help_of(const io::Key& key, const RunModel* run);

}  // namespace pipeloom::gui
