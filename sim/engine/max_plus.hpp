#pragma once

// The little max-plus algebra that repeated steps need.

#include <cstddef>
#include <vector>

#include <pipeloom/units.hpp>

namespace pipeloom {

/// A square matrix over (max, +); entries are absent (minus infinity) until set.
class MaxPlusMatrix {
 public:
  static constexpr Ticks kAbsent = -kMaxTicks;

  explicit MaxPlusMatrix(std::size_t size) : size_(size), entries_(size * size, kAbsent) {}
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Weight of the edge column -> row.
  [[nodiscard]] Ticks at(std::size_t row, std::size_t column) const { return entries_[row * size_ + column]; }
  void set(std::size_t row, std::size_t column, Ticks value) { entries_[row * size_ + column] = value; }

 private:
  std::size_t size_;
  std::vector<Ticks> entries_;
};

/// The largest mean weight of a cycle, rounded to the nearest tick: the growth per step of x <- matrix (x) x from any
/// finite start. Karp, A characterization of the minimum cycle mean in a digraph, 1978. O(size^3) time, O(size^2) memory. 0
/// without a cycle.
[[nodiscard]] Ticks max_cycle_mean(const MaxPlusMatrix& matrix);

}  // namespace pipeloom
