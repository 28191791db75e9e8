#pragma once

// A device's events on the clock of the run, step by step.

#include <array>
#include <mutex>

#include "executor/clock.hpp"
#include "executor/cuda/device_clock.hpp"
#include "executor/cuda/device_stream.hpp"

namespace pipeloom::executor::cuda {

class StepClock {
 public:
  /// Records anchors on a stream with nothing to do, and waits for each: the tightest counts. Returns false, with the clock as
  /// it was, if `stopped` says so meanwhile.
  template <class Stopped>
  [[nodiscard]] bool set(cudaStream_t stream, const RunClock& clock, Stopped stopped) {
    std::array<Bracket, kTries> brackets;
    for (std::size_t i = 0; i < kTries; ++i) {
      brackets[i].before = clock.now();
      anchors_[i].record(stream);
      while (!has_happened(anchors_[i].get()))
        if (stopped()) return false;
      brackets[i].after = clock.now();
    }
    best_ = tightest(brackets);
    anchor_ = anchor_of(brackets[best_]);
    return true;
  }

  /// REQUIRES: set() was called on this device in this step; the event has happened.
  [[nodiscard]] Ticks operator()(cudaEvent_t event) const {
    return time_of(anchor_, milliseconds_between(anchors_[best_].get(), event));
  }
  [[nodiscard]] const Anchor& anchor() const { return anchor_; }

 private:
  /// One that a thread switch falls into is not the only one.
  static constexpr std::size_t kTries = 3;
  std::array<Event, kTries> anchors_;
  std::size_t best_ = 0;
  Anchor anchor_;
};

/// The clock of one device, for all ranks that share it: with one anchor for all, events of different ranks are in their true order.
class DeviceClock {
 public:
  /// Sets the clock of a step, unless another rank has. As StepClock::set(). REQUIRES: ranks begin a step when all have ended the one
  /// before.
  template <class Stopped>
  [[nodiscard]] bool begin_step(int step, cudaStream_t stream, const RunClock& clock, Stopped stopped) {
    const std::lock_guard lock(mutex_);
    if (step_ == step) return true;
    if (!now_.set(stream, clock, stopped)) return false;
    step_ = step;
    return true;
  }
  /// REQUIRES: this thread has called begin_step() for the step, successfully.
  [[nodiscard]] const StepClock& now() const { return now_; }

 private:
  std::mutex mutex_;
  int step_ = -1;
  StepClock now_;
};

}  // namespace pipeloom::executor::cuda
