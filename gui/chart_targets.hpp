#pragma once

// Things of the chart that scripts point at.

#include <optional>
#include <string_view>

#include "gui/ui.hpp"

namespace pipeloom::gui {

/// Where `op:RANK/0F7`, `gap:RANK/N` or `legend:F` of the active run was in the frame drawn last. No value if the chart does not show it;
/// nothing is scrolled or zoomed. Throws InputError for an op or gap that the run does not have.
[[nodiscard]] std::optional<ItemRect> resolve_target(Ui& ui, std::string_view target);

}  // namespace pipeloom::gui
