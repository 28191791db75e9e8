#pragma once

// The clock of a run: steady, shared by all ranks, in ticks (picoseconds) since the run was set up; and waiting until a moment, as exactly as
// the machine allows.

#include <chrono>

#include <pipeloom/units.hpp>

namespace pipeloom::executor {

class RunClock {
 public:
  using Source = std::chrono::steady_clock;

  [[nodiscard]] Ticks now() const {
    return Ticks{1000} *
           std::chrono::duration_cast<std::chrono::nanoseconds>(Source::now() - origin_).count();
  }
  /// When it was set up, by the machine's clock.
  [[nodiscard]] Source::time_point origin() const { return origin_; }
  /// The moment `ticks` as a time that threads can sleep until; never before it.
  [[nodiscard]] Source::time_point at(Ticks ticks) const {
    return origin_ +
           std::chrono::duration_cast<Source::duration>(std::chrono::nanoseconds((ticks + 999) / 1000));
  }

 private:
  Source::time_point origin_ = Source::now();
};

/// Ticks of this many seconds.
[[nodiscard]] inline Ticks ticks_of_seconds(double seconds) {
  return static_cast<Ticks>(seconds * static_cast<double>(ticks_per(TimeUnit::Second)));
}

/// Lets this thread's sleeps end when they should: Linux otherwise joins wake-ups that are within 50 us.
void wake_up_precisely();

/// Returns at `moment`, not before it: sleeps, but a little shorter than that, by as much as this thread's sleeps usually last too long
/// (at most 150 us), and looks at the clock for the rest. With `spin` that is always the last 300 us, which is more exact
/// but wants a core for every thread that waits.
void wait_until(RunClock::Source::time_point moment, bool spin);

}  // namespace pipeloom::executor
