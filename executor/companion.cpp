#include "executor/companion.hpp"

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

void Companion::start(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  task_ = std::move(task);
  changed_.notify_all();
}

void Companion::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !task_; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Companion::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || task_; });
    if (!task_) return;
    lock.unlock();
    std::exception_ptr error;
    try {
      task_();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    task_ = nullptr;
    error_ = error;
    changed_.notify_all();
  }
}

}  // namespace pipeloom::executor
