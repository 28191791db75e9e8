#pragma once

// A short tour: a few hints, one after the other, each pointing at its subject.

#include <span>

#include "gui/model/session/keys.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

struct TourStep {
  const char* item;  ///< the item that it points at, as Items call it
  const char* title;
  const char* text;
};
[[nodiscard]] std::span<const TourStep> tour_steps();

/// Moves by `by` steps; past the last one the tour ends. REQUIRES: one is shown.
void move_tour(Session& session, int by);
/// While the tour is shown: Right goes on, Left goes back, Escape ends it. False for other keys, and while it is not.
bool take_tour_key(Session& session, const Chord& chord);

}  // namespace pipeloom::gui
