#pragma once

// Products that were timed for a ladder of m at many pairs of n and k, as tables for inference have them.

#include <optional>
#include <vector>

#include "sim/hardware/shape_table.hpp"

namespace pipeloom::hardware {

class GemmGrid {
 public:
  struct Point {
    double m = 0;
    double efficiency = 0;
  };
  /// Efficiencies of a pair, m ascending, at least one.
  void add(double n, double k, std::vector<Point> ladder);
  [[nodiscard]] bool empty() const { return pairs_.empty(); }
  /// Share of the peak that C[m, n] = A[m, k] B[k, n] reaches. In m: a straight line between the logarithms of two times; below the first a product
  /// takes as long as the first, above the last it is as efficient as the last. Of pairs that were not timed: the mean of the three nearest pairs
  /// at this m, each weighted with 1 / distance^2 in the space of logarithms. A hit: the pair was timed, and m lies on its ladder. Returns nullopt
  /// if the grid is empty.
  [[nodiscard]] std::optional<Found> find(double m, double k, double n) const;

 private:
  struct Pair {
    double log_n = 0;
    double log_k = 0;
    std::vector<Point> ladder;
  };
  std::vector<Pair> pairs_;
};

}  // namespace pipeloom::hardware
