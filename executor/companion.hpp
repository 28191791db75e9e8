#pragma once

// A rank's second thread: the other lane of an overlapped group.

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace pipeloom::executor {

/// Runs one task at a time beside its owner. Starting a thread takes longer than waking one, so it lives as long as its rank.
class Companion {
 public:
  Companion();
  /// Waits for a task that is under way.
  ~Companion();
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;

  /// REQUIRES: finish() was called for the task before.
  void start(std::function<void()> task);
  /// Waits for the task, and throws what it threw.
  void finish();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;  // empty: nothing to do
  std::exception_ptr error_;
  bool ending_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace pipeloom::executor
