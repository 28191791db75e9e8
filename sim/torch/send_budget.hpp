#pragma once

// PyTorch 2.15's max_outstanding_sends: waits moved forward, so that a rank never has more than that many sends open.

#include "sim/actions.hpp"
#include "sim/torch/homes.hpp"

namespace pipeloom::torch {

/// Before a send that would be one too many, waits for earlier sends of the row are put until there is room: each time that of the
/// earliest send whose receive is posted by then whatever the ranks' speeds, else of the earliest whose receive can still be posted by
/// then, for which the rank may have to wait. Waits that need not move stay. Cells are kept.
///
/// Throws InputError if none of the open sends can be waited for without a hang, ScheduleError if the lists hang as they are. REQUIRES:
/// fits(lists, homes); every send is there once, with its receive on the other rank and one wait after it; most >= 1.
///
/// A question "is a receive posted by then" looks at the cells between the two in an order that all ranks could follow.
[[nodiscard]] ActionLists limit_open_sends(const ActionLists& lists, const Homes& homes, int most);

}  // namespace pipeloom::torch
