#pragma once

// Averages that a few wild values do not move, and small systems of equations.

#include <cstddef>
#include <vector>

namespace pipeloom::study::explain {

struct Weighted {
  double value = 0;
  double weight = 1;
};

struct TrimmedMean {
  double value = 0;
  double count = 0;  ///< of values within the width
};

/// The mean of the middle two for an even count; 0 of nothing.
[[nodiscard]] double median_of(std::vector<double> values);
/// The value at which half of the weight is reached, the middle of two where it is reached exactly. REQUIRES: not empty.
[[nodiscard]] double weighted_median(std::vector<Weighted> values);
/// The mean of the values within `width` of their median. REQUIRES: not empty.
[[nodiscard]] TrimmedMean trimmed_mean(const std::vector<double>& values, double width);
/// x of matrix x = right, row by row, by elimination; unknowns that nothing determines are 0.
[[nodiscard]] std::vector<double> solve(std::vector<double> matrix, std::vector<double> right);

}  // namespace pipeloom::study::explain
