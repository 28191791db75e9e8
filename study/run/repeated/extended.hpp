#pragma once

// Numbers that grow by the same with every repetition.

#include <cstdint>

#include <pipeloom/units.hpp>
#include "sim/base/tick_sum.hpp"
#include "sim/engine/time_limits.hpp"

namespace pipeloom::study {

/// A number of a run that has `times` repetitions more than one of which it is `shorter`, where one more makes it `longer`. Throws InputError if it is
/// above kMaxTicks.
[[nodiscard]] inline std::int64_t extended(std::int64_t shorter, std::int64_t longer, std::int64_t times) {
  const TickSum sum =
      TickSum(shorter) + TickSum::of(TickSum::Wide{longer - shorter} * static_cast<TickSum::Wide>(times));
  if (sum > kMaxTicks) refuse_times();
  return static_cast<std::int64_t>(sum.value());
}
[[nodiscard]] inline TickSum extended(TickSum shorter, TickSum longer, std::int64_t times) {
  return shorter + TickSum::of((longer - shorter).value() * static_cast<TickSum::Wide>(times));
}

}  // namespace pipeloom::study
