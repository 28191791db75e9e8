#pragma once

// Waiting until a moment, as exactly as the machine allows.

#include "executor/clock.hpp"

namespace pipeloom::executor {

/// Lets this thread's sleeps end when they should: Linux otherwise joins wake-ups that are within 50 us.
void wake_up_precisely();

/// Returns at `moment`, not before it: sleeps, and where `spin` says so looks at the clock for the last stretch instead, which is
/// exact but keeps a core busy.
void wait_until(RunClock::Source::time_point moment, bool spin);

}  // namespace pipeloom::executor
