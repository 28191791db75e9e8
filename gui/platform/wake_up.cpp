#include "gui/platform/wake_up.hpp"

#include <chrono>

namespace pipeloom::gui {

void WakeUp::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_one();
}

void WakeUp::wait(double seconds) {
  std::unique_lock lock(mutex_);
  const auto woken = [this] { return woken_; };
  if (seconds < 0)
    changed_.wait(lock, woken);
  else
    changed_.wait_for(lock, std::chrono::duration<double>(seconds), woken);
  woken_ = false;
}

}  // namespace pipeloom::gui
