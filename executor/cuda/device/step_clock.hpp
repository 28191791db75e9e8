#pragma once

// A device's events on the clock of the run, step by step.

#include <array>
#include <cstddef>
#include <mutex>
#include <optional>

#include "executor/cuda/device/device_clock.hpp"
#include "executor/cuda/device/device_stream.hpp"
#include "executor/run/clock.hpp"

namespace pipeloom::executor::cuda {

class StepClock {
 public:
  /// Records events on a stream with nothing to do, and waits for each: the tightest counts, or the anchor of the step before where
  /// that is still known better, as on a host that is busy. Returns false, with the clock as it was, if `stopped` says so
  /// meanwhile.
  template <class Stopped>
  [[nodiscard]] bool set(cudaStream_t stream, const RunClock& clock, Stopped stopped) {
    std::optional<std::size_t> best;
    Bracket tight;
    for (int i = 0; i < kMostTries && (i < kTries || tight.width() > kTightEnough); ++i) {
      const std::size_t trial = unused(best);
      Bracket bracket;
      bracket.before = clock.now();
      events_[trial].record(stream);
      while (!has_happened(events_[trial].get()))
        if (stopped()) return false;
      bracket.after = clock.now();
      if (best && bracket.width() >= tight.width()) continue;
      best = trial;
      tight = bracket;
    }
    Anchor anchor = anchor_of(tight);
    if (event_) {
      const Anchor older =
          carried(anchor_, milliseconds_between(events_[*event_].get(), events_[*best].get()));
      if (older.error < anchor.error) anchor = older;
    }
    anchor_ = anchor;
    event_ = best;
    return true;
  }

  /// REQUIRES: set() was called on this device in this step; the event has happened.
  [[nodiscard]] Ticks operator()(cudaEvent_t event) const {
    return time_of(anchor_, milliseconds_between(events_[*event_].get(), event));
  }
  [[nodiscard]] const Anchor& anchor() const { return anchor_; }

 private:
  /// A reading is tried this often at least, since a thread switch may fall into a try, and on as long as all were wide.
  static constexpr int kTries = 3;
  static constexpr int kMostTries = 40;
  static constexpr Ticks kTightEnough = 50'000'000;  // 50 us

  /// An event that is neither the anchor nor the best of this step.
  [[nodiscard]] std::size_t unused(std::optional<std::size_t> best) const {
    std::size_t i = 0;
    while (i == event_ || i == best) ++i;
    return i;
  }

  std::array<Event, 3> events_;
  std::optional<std::size_t> event_;  // the anchor's
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
