#include "sim/engine/max_plus.hpp"

#include <algorithm>

namespace pipeloom {
namespace {

__extension__ using Wide = __int128;

/// walk[k][v]: heaviest walk of exactly k edges that ends at v, starting anywhere (a source with free edges to all).
template <class Weight>
std::vector<std::vector<Weight>> heaviest_walks(const MaxPlusMatrix& matrix) {
  const std::size_t n = matrix.size();
  std::vector<std::vector<Weight>> walk(n + 1, std::vector<Weight>(n, MaxPlusMatrix::kAbsent));
  std::fill(walk[0].begin(), walk[0].end(), Weight{0});
  for (std::size_t k = 1; k <= n; ++k)
    for (std::size_t row = 0; row < n; ++row)
      for (std::size_t column = 0; column < n; ++column) {
        const Ticks weight = matrix.at(row, column);
        const Weight before = walk[k - 1][column];
        if (weight != MaxPlusMatrix::kAbsent && before != MaxPlusMatrix::kAbsent)
          walk[k][row] = std::max(walk[k][row], before + weight);
      }
  return walk;
}

/// A fraction; compared by cross-multiplication so that the maximum is exact.
struct Mean {
  Wide weight = 0;
  Wide edges = 1;
  friend bool operator<(const Mean& a, const Mean& b) { return a.weight * b.edges < b.weight * a.edges; }
};

template <class Weight>
Mean largest_cycle_mean(const MaxPlusMatrix& matrix) {
  const std::size_t n = matrix.size();
  const auto walk = heaviest_walks<Weight>(matrix);
  Mean best;
  for (std::size_t v = 0; v < n; ++v) {
    if (walk[n][v] == MaxPlusMatrix::kAbsent) continue;
    Mean least{kMaxTicks, 1};
    for (std::size_t k = 0; k < n; ++k)
      if (walk[k][v] != MaxPlusMatrix::kAbsent)
        least = std::min(least, Mean{Wide{walk[n][v]} - walk[k][v], static_cast<Wide>(n - k)});
    best = std::max(best, least);
  }
  return best;
}

/// Whether a walk of n edges can pass kMaxTicks.
bool needs_wide_walks(const MaxPlusMatrix& matrix) {
  Ticks heaviest = 0;
  for (std::size_t row = 0; row < matrix.size(); ++row)
    for (std::size_t column = 0; column < matrix.size(); ++column)
      heaviest = std::max(heaviest, matrix.at(row, column));
  return Wide{heaviest} * static_cast<Wide>(matrix.size()) >= kMaxTicks;
}

}  // namespace

Ticks max_cycle_mean(const MaxPlusMatrix& matrix) {
  const Mean best =
      needs_wide_walks(matrix) ? largest_cycle_mean<Wide>(matrix) : largest_cycle_mean<Ticks>(matrix);
  return static_cast<Ticks>((best.weight + best.edges / 2) / best.edges);
}

}  // namespace pipeloom
