#pragma once

// The selection, and steps from it to other things. Selecting makes the op's run the active one and, where asked, moves the view as little
// as needed to show it.

#include <optional>

#include "gui/model/chart/op_walk.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

enum class Reveal : std::uint8_t { No, Yes };

/// Selecting brings the panel with the details to the front of its place. REQUIRES: the run is open and has this op or gap.
void select_op(Session& session, const OpRef& op, Reveal reveal);
/// Selects an op of a list that goes on to be read and clicked: no other panel takes its place.
void select_from_list(Session& session, const OpRef& op);
/// Selects an op that the active run does not reach, as it hangs. Does nothing where it ends.
void select_waiting(Session& session, Op op);
void select_gap(Session& session, const GapRef& gap, Reveal reveal);
/// The run of the selected op or gap, else the active run; null if nothing is open.
[[nodiscard]] RunPtr selected_run(const Session& session);
/// The rank that the selection is on; no value without one.
[[nodiscard]] std::optional<Rank> selected_rank(const Session& session);

/// The op where steps from op to op begin: the selected op; of a selected gap the op after it (before it, if the gap is the last); else the
/// op in the middle of the view on the first rank. No value where there are no ops.
[[nodiscard]] std::optional<OpRef> current_op(const Session& session);

/// Along the rank's queue; the first step selects the current op if none is.
void step_in_queue(Session& session, bool forward);
/// Selects an op that the selected one waits for, or that waits for it (OpWalk::back, forward). Says so where there is none.
void step_along_dependency(Session& session, bool forward);
/// Selects the next op of the same microbatch in time.
void step_in_microbatch(Session& session, bool forward);
/// Selects the op at the same time on the next rank that is shown.
void step_to_rank(Session& session, int by);
/// Selects the next gap of the rank.
void step_to_gap(Session& session, bool forward);
/// The longest gap of the run; while a gap is selected that was reached this way, the next longest.
void select_longest_gap(Session& session);

}  // namespace pipeloom::gui
