#pragma once

// One step of one rank: its device's events on the clock of the run.

#include <array>

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

}  // namespace pipeloom::executor::cuda
