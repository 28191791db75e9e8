#include "executor/run/barrier.hpp"

namespace pipeloom::executor {

bool ThreadBarrier::arrive_and_wait() {
  std::unique_lock lock(mutex_);
  const unsigned round = round_;
  if (++waiting_ == ranks_) {
    waiting_ = 0;
    ++round_;
    all_here_.notify_all();
    return !stopped_;
  }
  all_here_.wait(lock, [&] { return stopped_ || round_ != round; });
  return !stopped_;
}

void ThreadBarrier::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  all_here_.notify_all();
}

}  // namespace pipeloom::executor
