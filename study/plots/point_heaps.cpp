#include "study/plots/point_heaps.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace pipeloom::study::page {
namespace {

constexpr double kLeastSide = 0.5;
constexpr double kMostSide = 100'000;
constexpr double kGrowth = 1.5;

std::uint64_t square_of(const PlacedPoint& point, double side) {
  const auto at = [side](double pixels) { return static_cast<std::uint64_t>(pixels / side); };
  return (at(point.x) << 44U) | (at(point.y) << 24U) | point.series;
}

/// Nullopt if there are more than `most` heaps.
std::optional<std::vector<PointHeap>> heaps_of(const std::vector<PlacedPoint>& points, double side,
                                               std::size_t most) {
  std::vector<PointHeap> out;
  std::unordered_map<std::uint64_t, std::size_t> heap_of;
  for (const PlacedPoint& point : points) {
    const auto [found, is_new] = heap_of.emplace(square_of(point, side), out.size());
    if (is_new) {
      if (out.size() == most) return std::nullopt;
      out.push_back({point, 0, 0, 0});
    }
    PointHeap& heap = out[found->second];
    ++heap.count;
    heap.x += point.x;
    heap.y += point.y;
  }
  return out;
}

}  // namespace

std::vector<PointHeap> point_heaps(const std::vector<PlacedPoint>& points, std::size_t most) {
  std::optional<std::vector<PointHeap>> heaps;
  for (double side = kLeastSide; !heaps && side < kMostSide; side *= kGrowth)
    heaps = heaps_of(points, side, most);
  if (!heaps) heaps = heaps_of(points, kMostSide, points.size());
  for (PointHeap& heap : *heaps) {
    heap.x /= static_cast<double>(heap.count);
    heap.y /= static_cast<double>(heap.count);
  }
  std::stable_sort(heaps->begin(), heaps->end(),
                   [](const PointHeap& a, const PointHeap& b) { return a.count > b.count; });
  return std::move(*heaps);
}

}  // namespace pipeloom::study::page
