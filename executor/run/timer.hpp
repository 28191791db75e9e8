#pragma once

// Waiting until a moment, as exactly as the machine allows.

#include "executor/run/clock.hpp"

namespace pipeloom::executor {

/// Lets this thread's sleeps end when they should: Linux otherwise joins wake-ups that are within 50 us.
void wake_up_precisely();

/// Returns at `moment`, not before it: sleeps, but a little shorter than that, by as much as this thread's sleeps usually last too long
/// (at most 150 us), and looks at the clock for what is then left. With `spin` that is always the last 300 us, which is more exact
/// but wants a core for every thread that waits.
void wait_until(RunClock::Source::time_point moment, bool spin);

}  // namespace pipeloom::executor
