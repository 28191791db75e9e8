#include "study/explain/robust.hpp"

#include <algorithm>
#include <cmath>

namespace pipeloom::study::explain {

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double weighted_median(std::vector<Weighted> values) {
  std::sort(values.begin(), values.end(),
            [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
  double total = 0;
  for (const Weighted& value : values) total += value.weight;
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += values[i].weight;
    if (sum > total / 2 * (1 + 1e-9)) return values[i].value;
    if (sum >= total / 2 * (1 - 1e-9) && i + 1 < values.size())
      return (values[i].value + values[i + 1].value) / 2;
  }
  return values.back().value;
}

TrimmedMean trimmed_mean(const std::vector<double>& values, double width) {
  const double middle = median_of(values);
  TrimmedMean mean;
  for (const double value : values) {
    if (std::abs(value - middle) > width) continue;
    mean.value += value;
    mean.count += 1;
  }
  if (mean.count == 0) return {middle, 1};
  mean.value /= mean.count;
  return mean;
}

std::vector<double> solve(std::vector<double> matrix, std::vector<double> right) {
  const std::size_t n = right.size();
  std::vector<bool> determined(n, true);
  for (std::size_t i = 0; i < n; ++i) {
    const double pivot = matrix[i * n + i];
    determined[i] = pivot > 1e-9;
    if (!determined[i]) continue;
    for (std::size_t row = 0; row < n; ++row) {
      if (row == i) continue;
      const double times = matrix[row * n + i] / pivot;
      for (std::size_t k = i; k < n; ++k) matrix[row * n + k] -= times * matrix[i * n + k];
      right[row] -= times * right[i];
    }
  }
  for (std::size_t i = 0; i < n; ++i) right[i] = determined[i] ? right[i] / matrix[i * n + i] : 0;
  return right;
}

}  // namespace pipeloom::study::explain
