#pragma once

// Where times would pass kMaxTicks, a run is refused: no time is ever wrong.

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>
#include <pipeloom/units.hpp>
#include "sim/base/tick_sum.hpp"

namespace pipeloom {

/// Throws the InputError of times that pass kMaxTicks.
[[noreturn]] void refuse_times();

/// `when` + `by`. Throws InputError where that passes kMaxTicks. REQUIRES: by >= 0; when + kMaxTicks does not overflow.
[[nodiscard]] inline Ticks later(Ticks when, Ticks by) {
  if (by > kMaxTicks - when) refuse_times();
  return when + by;
}

/// No more than entries and hops of one step can take together, however they follow each other: a bound without a look at the ops.
[[nodiscard]] TickSum easy_sum_of_times(const Schedule& schedule, const Costs& costs);

/// The same from the ops: the work of every entry, and the longest delay for each. Throws InputError where an entry alone passes
/// kMaxTicks: otherwise Costs::entry_duration() is right for all. O(ops).
[[nodiscard]] TickSum sum_of_times(const Schedule& schedule, const Costs& costs);

}  // namespace pipeloom
