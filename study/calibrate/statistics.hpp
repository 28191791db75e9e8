#pragma once

// How sure a median is.

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace pipeloom::study::calibrate {

/// Fewer values say nothing about a spread.
inline constexpr std::size_t kFewest = 4;

/// sigma of a normal distribution / its median absolute deviation.
inline constexpr double kOfNormal = 1.4826;

/// So many standard errors, that in `tests` tests of nothing one passes once in a hundred runs: exp(-z^2 / 2) bounds both tails of a
/// normal distribution.
[[nodiscard]] inline double z_of(std::size_t tests) {
  return std::sqrt(2 * std::log(100 * static_cast<double>(std::max<std::size_t>(tests, 1))));
}

/// The standard error of the median of `count` values with this sigma: sqrt(pi / 2) of the mean's.
[[nodiscard]] inline double median_error(double sigma, double count) {
  constexpr double kOfMean = 1.2533;
  return (count > 1 ? kOfMean : 1) * sigma / std::sqrt(count);
}

}  // namespace pipeloom::study::calibrate
