#pragma once

// Where all ranks meet between steps.

#include <condition_variable>
#include <mutex>

namespace pipeloom::executor {

class Barrier {
 public:
  /// REQUIRES: ranks >= 1.
  explicit Barrier(int ranks) : ranks_(ranks) {}

  /// Waits until every rank has come. False if the run was stopped: then nobody waits here any more.
  [[nodiscard]] bool arrive_and_wait();
  /// Lets everybody go.
  void stop();

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  int ranks_;
  int waiting_ = 0;
  unsigned round_ = 0;
  bool stopped_ = false;
};

}  // namespace pipeloom::executor
