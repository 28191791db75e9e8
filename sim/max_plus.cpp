#include "sim/max_plus.hpp"

#include <algorithm>

namespace pipeloom {
namespace {

/// walk[k][v]: heaviest walk of exactly k edges that ends at v, starting anywhere (a source with free edges to all).
std::vector<std::vector<Ticks>> heaviest_walks(const MaxPlusMatrix& matrix) {
  const std::size_t n = matrix.size();
  std::vector<std::vector<Ticks>> walk(n + 1, std::vector<Ticks>(n, MaxPlusMatrix::kAbsent));
  std::fill(walk[0].begin(), walk[0].end(), Ticks{0});
  for (std::size_t k = 1; k <= n; ++k)
    for (std::size_t row = 0; row < n; ++row)
      for (std::size_t column = 0; column < n; ++column) {
        const Ticks weight = matrix.at(row, column);
        const Ticks before = walk[k - 1][column];
        if (weight != MaxPlusMatrix::kAbsent && before != MaxPlusMatrix::kAbsent)
          walk[k][row] = std::max(walk[k][row], before + weight);
      }
  return walk;
}

/// A fraction; compared by cross-multiplication so that the maximum is exact.
struct Mean {
  Ticks weight = 0;
  Ticks edges = 1;
  friend bool operator<(const Mean& a, const Mean& b) {
    __extension__ using Wide = __int128;
    return static_cast<Wide>(a.weight) * b.edges < static_cast<Wide>(b.weight) * a.edges;
  }
};

}  // namespace

Ticks max_cycle_mean(const MaxPlusMatrix& matrix) {
  const std::size_t n = matrix.size();
  const auto walk = heaviest_walks(matrix);
  Mean best;
  for (std::size_t v = 0; v < n; ++v) {
    if (walk[n][v] == MaxPlusMatrix::kAbsent) continue;
    Mean least{kMaxTicks, 1};
    for (std::size_t k = 0; k < n; ++k)
      if (walk[k][v] != MaxPlusMatrix::kAbsent)
        least = std::min(least, Mean{walk[n][v] - walk[k][v], static_cast<Ticks>(n - k)});
    best = std::max(best, least);
  }
  return multiply_divide(best.weight, 1, best.edges);
}

}  // namespace pipeloom
