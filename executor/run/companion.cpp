#include "executor/run/companion.hpp"

#include <utility>

namespace pipeloom::executor {

Companion::Companion() : thread_([this] { work(); }) {}

Companion::~Companion() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

Companion::Ticket Companion::start(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  changed_.notify_all();
  return ++started_;
}

void Companion::finish(Ticket ticket) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ >= ticket; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Companion::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const std::function<void()> task = std::move(tasks_.front());
    const bool skipped = error_ != nullptr;
    lock.unlock();
    std::exception_ptr error;
    try {
      if (!skipped) task();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    tasks_.pop_front();
    if (error) error_ = error;
    ++ended_;
    changed_.notify_all();
  }
}

}  // namespace pipeloom::executor
