#pragma once

// Times of a device's events on the clock of a run. An event tells only how long after another one it happened; one whose moment the host
// knows too, the anchor, ties them to the host's clock.

#include <pipeloom/units.hpp>

namespace pipeloom::executor::cuda {

/// An event recorded on an idle device at `before` (host clock) and seen done at `after`.
struct Bracket {
  Ticks before = 0;
  Ticks after = 0;
  [[nodiscard]] Ticks width() const { return after - before; }
};

/// When an event happened on the host's clock, give or take `error`.
struct Anchor {
  Ticks at = 0;
  Ticks error = 0;  ///< half of the bracket: it happened somewhere inside
};

/// The middle of the bracket. REQUIRES: after >= before.
[[nodiscard]] Anchor anchor_of(const Bracket& bracket);

/// The anchor moved to an event `milliseconds` after it: the two clocks may have drifted apart by 100 us per second meanwhile.
[[nodiscard]] Anchor carried(const Anchor& anchor, float milliseconds);

/// The moment of an event `milliseconds` after the anchor, as cudaEventElapsedTime gives them, rounded to a nanosecond: the device
/// counts in about half a microsecond, and a float holds 24 bits, 0.6 us of a step of 10 s.
[[nodiscard]] Ticks time_of(const Anchor& anchor, float milliseconds);

}  // namespace pipeloom::executor::cuda
