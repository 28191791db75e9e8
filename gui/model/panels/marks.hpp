#pragma once

// Marks on the time axis: temporary ones for measuring, persistent ones with a note that are kept beside the run's file.
// Session::marks holds them in order of time.

#include <optional>
#include <string_view>

#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

/// Adds a mark and keeps the order of time. One at the same time gives way to it.
void add_mark(Session& session, Mark mark);
/// A mark at this time, or removes the one that stands there already.
void toggle_mark(Session& session, Ticks time, bool persistent);
/// Index of the mark within `distance` of a time, the nearest; no value if there is none.
[[nodiscard]] std::optional<std::size_t> mark_near(const Session& session, double time, double distance);
/// The first mark behind the middle of the view (or the last one in front of it) moves to the middle. False if there is none.
bool jump_to_mark(Session& session, bool forward);

/// Where a mark belongs that no pointer places: the pointer's time over the chart, else the start of the selection, else the middle of
/// the view.
[[nodiscard]] Ticks time_for_mark(Session& session);
/// "12.5" in the active run's unit, as ticks. Throws InputError.
[[nodiscard]] Ticks parse_time(const Session& session, std::string_view text);

}  // namespace pipeloom::gui
