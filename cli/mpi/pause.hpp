#pragma once

// The rhythm of a rank's main thread: it looks for letters, and rests between two looks.

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "cli/mpi/mail.hpp"

namespace pipeloom::cli::mpi {

class Pause {
 public:
  /// Short after something happened, longer while nothing does.
  void rest() {
    std::this_thread::sleep_for(rest_);
    rest_ = std::min(2 * rest_, kLongest);
  }
  void something_happened() { rest_ = kShortest; }

  /// How long this process was away between two calls (stopped, or waiting for its disk), if longer than a moment.
  Clock::duration away() {
    const auto now = Clock::now();
    const auto gap = now - std::exchange(last_, now);
    return gap > kBeatEvery ? gap : Clock::duration::zero();
  }
  /// True a few times a second: for looks that cost something.
  bool is_time_to_look() {
    if (Clock::now() < next_look_) return false;
    next_look_ = Clock::now() + std::chrono::milliseconds(200);
    return true;
  }

 private:
  static constexpr std::chrono::microseconds kShortest{50};
  static constexpr std::chrono::microseconds kLongest{1000};
  std::chrono::microseconds rest_ = kShortest;
  Clock::time_point last_ = Clock::now();
  Clock::time_point next_look_ = Clock::now();
};

}  // namespace pipeloom::cli::mpi
