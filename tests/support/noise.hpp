#pragma once

#include <numeric>
#include <vector>

#include <pipeloom/costs.hpp>

namespace pipeloom::test {

inline Noise lognormal(double sigma) {
  return {.model = NoiseModel::Lognormal,
          .sigma = static_cast<Scale>(sigma * static_cast<double>(kUnitScale))};
}

inline double mean_of(const std::vector<Ticks>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace pipeloom::test
