#pragma once

// The winner map of a sweep in its panel, and small letters as the panel's pictures use them.

#include <string>

#include "gui/model/panels/sweep_model.hpp"
#include "gui/ui.hpp"

struct ImVec2;

namespace pipeloom::gui {

/// Fills the rest of the panel. Hover names the winner of a cell and its lead, a click opens its best point. REQUIRES: scene.map().
void draw_winner_map(Ui& ui, SweepModel& model, const SweepScene& scene);

/// Draws a text in the small font; `at` is its upper left corner.
void draw_small_text(const Ui& ui, ImVec2 at, Rgba colour, const std::string& text);
[[nodiscard]] ImVec2 small_text_size(const Ui& ui, const std::string& text);

}  // namespace pipeloom::gui
