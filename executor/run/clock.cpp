#include "executor/run/clock.hpp"

#include <algorithm>
#include <thread>

#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace pipeloom::executor {

void wake_up_precisely() {
#ifdef __linux__
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
#endif
}

void wait_until(RunClock::Source::time_point moment, bool spin) {
  using std::chrono::microseconds;
  using std::chrono::nanoseconds;
  constexpr nanoseconds kSpin = microseconds{300};
  constexpr nanoseconds kMostLate = microseconds{150};
  thread_local nanoseconds usually_late{0};  // a moving average over some eight sleeps
  const auto wake_up = moment - (spin ? kSpin : std::min(usually_late, kMostLate));
  std::this_thread::sleep_until(wake_up);
  const nanoseconds late = std::chrono::duration_cast<nanoseconds>(RunClock::Source::now() - wake_up);
  usually_late += (late - usually_late) / 8;
  while (RunClock::Source::now() < moment) {
  }
}

}  // namespace pipeloom::executor
