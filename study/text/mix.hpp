#pragma once

// The last steps of SplitMix64 (Steele, Lea, Flood 2014): every bit of the number reaches every bit of the result.

#include <cstdint>

namespace pipeloom::sweep {

/// Increment of its generator's state for each number: 2^64 over the golden ratio.
inline constexpr std::uint64_t kMixStep = 0x9E3779B97F4A7C15ULL;

[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t state) {
  state = (state ^ (state >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  state = (state ^ (state >> 27U)) * 0x94D049BB133111EBULL;
  return state ^ (state >> 31U);
}

}  // namespace pipeloom::sweep
