#include "sim/hardware/shape_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pipeloom::hardware {
namespace {

Shape logarithms(const Shape& shape) {
  Shape out = {};
  for (std::size_t i = 0; i < shape.size(); ++i) out[i] = std::log(shape[i]);
  return out;
}

double squared_distance(const Shape& a, const Shape& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

constexpr std::size_t kNearest = 3;

}  // namespace

void ShapeTable::add(const Shape& shape, double value, bool measured) {
  const Row row{logarithms(shape), value, measured};
  const auto same =
      std::find_if(rows_.begin(), rows_.end(), [&](const Row& other) { return other.log == row.log; });
  if (same == rows_.end())
    rows_.push_back(row);
  else if (measured && !same->measured)
    *same = row;
}

std::optional<Found> ShapeTable::find(const Shape& shape) const {
  if (rows_.empty()) return std::nullopt;
  const Shape at = logarithms(shape);
  struct Near {
    double distance = std::numeric_limits<double>::infinity();  // squared
    double value = 0;
  };
  std::array<Near, kNearest> nearest;
  for (const Row& row : rows_) {
    Near here{squared_distance(row.log, at), row.value};
    if (here.distance == 0) return Found{row.value, true, row.measured};
    for (Near& near : nearest)
      if (here.distance < near.distance) std::swap(here, near);
  }
  double weights = 0;
  double sum = 0;
  for (const Near& near : nearest) {
    const double weight = 1 / near.distance;
    weights += weight;
    sum += weight * near.value;
  }
  return Found{sum / weights, false, false};
}

}  // namespace pipeloom::hardware
