#include "executor/cuda/device/device_clock.hpp"

#include <cmath>

namespace pipeloom::executor::cuda {

Anchor anchor_of(const Bracket& bracket) {
  return {bracket.before + bracket.width() / 2, (bracket.width() + 1) / 2};
}

Anchor carried(const Anchor& anchor, float milliseconds) {
  constexpr Ticks kSteady = 10'000;  // ticks of one of drift
  const Ticks at = time_of(anchor, milliseconds);
  return {at, anchor.error + (at - anchor.at) / kSteady};
}

Ticks time_of(const Anchor& anchor, float milliseconds) {
  const Ticks nanosecond = ticks_per(TimeUnit::Millisecond) / 1'000'000;
  return anchor.at + nanosecond * std::llround(static_cast<double>(milliseconds) * 1e6);
}

}  // namespace pipeloom::executor::cuda
