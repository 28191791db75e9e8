#pragma once

// Random numbers that are the same everywhere.

#include <cstdint>

namespace pipeloom::orders {

/// splitmix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  /// 0 .. count - 1. REQUIRES: count > 0.
  std::size_t below(std::size_t count) { return next() % count; }
  /// first .. last, both included.
  std::int32_t between(std::int32_t first, std::int32_t last) {
    return first + static_cast<std::int32_t>(below(static_cast<std::size_t>(last - first) + 1));
  }
  /// 0 to 1, 1 not included.
  double unit() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace pipeloom::orders
