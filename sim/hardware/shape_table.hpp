#pragma once

// Efficiencies that were measured at some shapes, asked for at others.

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace pipeloom::hardware {

/// Sizes of an operation, all above 0; a size that an operation does not use is 1.
using Shape = std::array<double, 6>;

struct Found {
  double value = 0;
  bool hit = false;       ///< the shape itself is in the table
  bool measured = false;  ///< and comes from a measurement of the user's own
};

/// Points in the space of the sizes' logarithms.
class ShapeTable {
 public:
  /// `value` > 0. Of a shape added twice the measured value counts, else the first.
  void add(const Shape& shape, double value, bool measured = false);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  /// The value at the shape, or the mean of the three nearest (fewer where there are no more), each weighted with 1 / distance^2. Returns nullopt
  /// if the table is empty.
  [[nodiscard]] std::optional<Found> find(const Shape& shape) const;

 private:
  struct Row {
    Shape log = {};
    double value = 0;
    bool measured = false;
  };
  std::vector<Row> rows_;
};

}  // namespace pipeloom::hardware
