#include "executor/timer.hpp"

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
  constexpr std::chrono::microseconds kSpin{300};
  std::this_thread::sleep_until(spin ? moment - kSpin : moment);
  while (RunClock::Source::now() < moment) {
  }
}

}  // namespace pipeloom::executor
