#pragma once

// A thread beside a rank's own.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace pipeloom::executor {

/// Runs tasks beside its owner, one after another in the order in which they were started. Starting a thread takes longer than waking
/// one, so it lives as long as its rank. Only the owner's thread calls it.
class Companion {
 public:
  /// The n-th task, counted from 1.
  using Ticket = std::size_t;

  Companion();
  /// Waits for all tasks.
  ~Companion();
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;

  /// Never waits. Behind a task that threw, tasks are not run until finish() has thrown that.
  Ticket start(std::function<void()> task);
  /// Waits until this task and those before it have ended, and throws what the first one threw that did.
  void finish(Ticket ticket);
  /// The same for all tasks.
  void finish() { finish(started_); }

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;  // the first one is under way
  Ticket started_ = 0;
  Ticket ended_ = 0;
  std::exception_ptr error_;
  bool ending_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace pipeloom::executor
