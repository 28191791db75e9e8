#include "executor/cuda/device_clock.hpp"

#include <algorithm>
#include <cmath>

namespace pipeloom::executor::cuda {

Anchor anchor_of(const Bracket& bracket) {
  const Ticks width = bracket.after - bracket.before;
  return {bracket.before + width / 2, (width + 1) / 2};
}

std::size_t tightest(std::span<const Bracket> brackets) {
  const auto found = std::min_element(
      brackets.begin(), brackets.end(),
      [](const Bracket& a, const Bracket& b) { return a.after - a.before < b.after - b.before; });
  return static_cast<std::size_t>(found - brackets.begin());
}

Ticks time_of(const Anchor& anchor, float milliseconds) {
  const Ticks nanosecond = ticks_per(TimeUnit::Millisecond) / 1'000'000;
  return anchor.at + nanosecond * std::llround(static_cast<double>(milliseconds) * 1e6);
}

}  // namespace pipeloom::executor::cuda
