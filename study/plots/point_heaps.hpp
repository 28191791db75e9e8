#pragma once

// Points of a picture that lie too close to be told apart.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "study/sweep/result/column.hpp"

namespace pipeloom::study::page {

/// A point on the picture, in pixels.
struct PlacedPoint {
  double x = 0;
  double y = 0;
  std::uint32_t series = 0;
  sweep::Row row = 0;
};

/// Points of one series within a square; an isolated point is one too.
struct PointHeap {
  PlacedPoint first;
  std::size_t count = 0;
  double x = 0;  ///< mean
  double y = 0;
};

/// The heaps of squares as small as `most` heaps allow, half a pixel at least: larger heaps first, equal ones by their first points. Squares
/// grow until there are at most `most` heaps, or one for each series. REQUIRES: points above 0 and below 100,000.
[[nodiscard]] std::vector<PointHeap> point_heaps(const std::vector<PlacedPoint>& points, std::size_t most);

}  // namespace pipeloom::study::page
