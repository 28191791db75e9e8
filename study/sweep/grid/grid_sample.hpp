#pragma once

// Samples of a grid: which combination the i-th drawn one is, computed from i and the seed alone. All integers, so that every
// machine draws the same.

#include <cstdint>

namespace pipeloom::sweep {

/// Output number `n` (from 0) of splitmix64 (Steele, Lea, Flood 2014) seeded with `seed`.
[[nodiscard]] std::uint64_t splitmix64(std::uint64_t seed, std::uint64_t n);

/// A pseudo-random order of 0 .. size-1: at(i) for i = 0 .. size-1 gives each once. Four rounds of a Feistel network over the next even
/// number of bits, keyed by splitmix64, repeated until the result is below `size`: at most four times on average, no memory.
class Permutation {
 public:
  /// REQUIRES: size >= 1.
  Permutation(std::uint64_t seed, std::uint64_t size);
  /// REQUIRES: i < size.
  [[nodiscard]] std::uint64_t at(std::uint64_t i) const;

 private:
  [[nodiscard]] std::uint64_t once(std::uint64_t value) const;

  std::uint64_t seed_;
  std::uint64_t size_;
  int half_ = 1;  ///< bits of one half
};

/// One of `values` values for point `i` of `points` in a Latin hypercube: the points fall into as many equal strata as there are points, one
/// into each, in a pseudo-random order; with fewer values than points, every value comes floor or ceiling of points / values times, with
/// more, one of the stratum's values is drawn. REQUIRES: i < points, values >= 1.
[[nodiscard]] std::uint64_t latin_value(std::uint64_t seed, std::uint64_t i, std::uint64_t points,
                                        std::uint64_t values);

}  // namespace pipeloom::sweep
