#pragma once

// A wait that another thread can end: a platform without a display waits for events with it.

#include <condition_variable>
#include <mutex>

namespace pipeloom::gui {

class WakeUp {
 public:
  /// Any thread may call it. A wake-up before the wait ends the next one at once.
  void wake();
  /// Waits for at most `seconds`; without end if negative.
  void wait(double seconds);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
};

}  // namespace pipeloom::gui
