#pragma once

// Many durations as two numbers.

#include <cstddef>
#include <vector>

#include <pipeloom/units.hpp>

namespace pipeloom::executor {

/// A sample of durations, in ticks.
struct DurationSample {
  std::size_t count = 0;
  Ticks median = 0;
  Ticks spread = 0;  ///< third less first quartile
};

/// Sorts `durations`. The middle of an even number is the lower of the two.
[[nodiscard]] DurationSample sample_of(std::vector<Ticks> durations);

}  // namespace pipeloom::executor
