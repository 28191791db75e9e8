#include "sim/cost/measured/measured_transfers.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace pipeloom::cost {
namespace {

constexpr double kTicksPerSecond = 1e12;
constexpr double kBits = 8;
/// A slope that would need a faster link is none: no clock tells it from level.
constexpr double kFastest = 1e15;

/// The lower middle one. REQUIRES: not empty.
template <class Number>
Number median_of(std::vector<Number> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>((numbers.size() - 1) / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

struct SizeMedian {
  double bytes = 0;
  double transfer = 0;
};

std::vector<SizeMedian> medians_by_size(std::span<const TransferPoint> points) {
  std::map<std::size_t, std::vector<Ticks>> by_size;
  for (const TransferPoint& point : points) by_size[point.bytes].push_back(point.transfer);
  std::vector<SizeMedian> out;
  for (auto& [bytes, transfers] : by_size)
    out.push_back({static_cast<double>(bytes), static_cast<double>(median_of(std::move(transfers)))});
  return out;
}

/// Ticks per byte.
double slope_of(const std::vector<SizeMedian>& medians) {
  std::vector<double> slopes;
  for (std::size_t i = 0; i < medians.size(); ++i)
    for (std::size_t j = i + 1; j < medians.size(); ++j)
      slopes.push_back((medians[j].transfer - medians[i].transfer) / (medians[j].bytes - medians[i].bytes));
  return median_of(std::move(slopes));
}

template <class Fn>
double median_over(const std::vector<SizeMedian>& medians, Fn&& fn) {
  std::vector<double> values;
  for (const SizeMedian& median : medians) values.push_back(fn(median));
  return median_of(std::move(values));
}

}  // namespace

LinkFit fit_link(std::span<const TransferPoint> points) {
  const auto medians = medians_by_size(points);
  double slope = medians.size() < 2 ? 0 : slope_of(medians);
  LinkFit out;
  if (slope <= kBits * kTicksPerSecond / kFastest) {
    std::vector<Ticks> transfers;
    for (const TransferPoint& point : points) transfers.push_back(point.transfer);
    out.latency = std::max<Ticks>(median_of(std::move(transfers)), 0);
    return out;
  }
  const double latency =
      median_over(medians, [&](const SizeMedian& one) { return one.transfer - slope * one.bytes; });
  if (latency < 0)
    slope = median_over(medians, [](const SizeMedian& one) { return one.transfer / one.bytes; });
  out.latency = std::max<Ticks>(std::llround(latency), 0);
  out.bits_per_second = kBits * kTicksPerSecond / slope;
  return out;
}

}  // namespace pipeloom::cost
