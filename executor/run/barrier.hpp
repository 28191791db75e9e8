#pragma once

// Where all ranks meet between steps.

#include <condition_variable>
#include <mutex>

namespace pipeloom::executor {

class Barrier {
 public:
  Barrier() = default;
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;
  virtual ~Barrier() = default;
  /// Waits until every rank has come. False if the run was stopped: then nobody waits here any more.
  [[nodiscard]] virtual bool arrive_and_wait() = 0;
  /// Lets everybody go.
  virtual void stop() = 0;
};

/// Of ranks that are threads of one process.
class ThreadBarrier : public Barrier {
 public:
  /// REQUIRES: ranks >= 1.
  explicit ThreadBarrier(int ranks) : ranks_(ranks) {}

  [[nodiscard]] bool arrive_and_wait() override;
  void stop() override;

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  int ranks_;
  int waiting_ = 0;
  unsigned round_ = 0;
  bool stopped_ = false;
};

}  // namespace pipeloom::executor
