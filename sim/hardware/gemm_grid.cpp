#include "sim/hardware/gemm_grid.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace pipeloom::hardware {
namespace {

/// FLOPs grow with m, so that a line between logarithms of times is one between logarithms of efficiencies.
double on_ladder(const std::vector<GemmGrid::Point>& ladder, double m) {
  if (m <= ladder.front().m) return ladder.front().efficiency * m / ladder.front().m;
  if (m >= ladder.back().m) return ladder.back().efficiency;
  const auto above =
      std::find_if(ladder.begin(), ladder.end(), [&](const auto& point) { return point.m >= m; });
  const auto below = above - 1;
  const double part = std::log(m / below->m) / std::log(above->m / below->m);
  return below->efficiency * std::pow(above->efficiency / below->efficiency, part);
}

constexpr std::size_t kNearestPairs = 3;

}  // namespace

void GemmGrid::add(double n, double k, std::vector<Point> ladder) {
  pairs_.push_back({std::log(n), std::log(k), std::move(ladder)});
}

std::optional<Found> GemmGrid::find(double m, double k, double n) const {
  if (pairs_.empty()) return std::nullopt;
  const double log_n = std::log(n);
  const double log_k = std::log(k);
  struct Near {
    double distance = std::numeric_limits<double>::infinity();
    const Pair* pair = nullptr;
  };
  std::array<Near, kNearestPairs> nearest;
  for (const Pair& pair : pairs_) {
    Near here{std::hypot(pair.log_n - log_n, pair.log_k - log_k), &pair};
    if (here.distance == 0) {
      const bool inside = m >= pair.ladder.front().m && m <= pair.ladder.back().m;
      return Found{on_ladder(pair.ladder, m), inside, false};
    }
    for (Near& near : nearest)
      if (here.distance < near.distance) std::swap(here, near);
  }
  double weights = 0;
  double sum = 0;
  for (const Near& near : nearest) {
    if (near.pair == nullptr) break;
    const double weight = 1 / (near.distance * near.distance);
    weights += weight;
    sum += weight * on_ladder(near.pair->ladder, m);
  }
  return Found{sum / weights, false, false};
}

}  // namespace pipeloom::hardware
