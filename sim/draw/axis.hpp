#pragma once

// Round numbers for axes.

#include <functional>
#include <string>
#include <vector>

#include <pipeloom/simulate.hpp>

namespace pipeloom::draw {

/// A tick mark of a time axis.
struct AxisTick {
  Ticks time = 0;
  /// The number without unit: "0", "2.5", "1500". No more digits than the step needs.
  std::string label;
};

struct TimeAxis {
  /// Distance between marks: 1, 2 or 5 times a power of ten ticks.
  Ticks step = 1;
  /// The unit of the labels: the timeline's, or for seconds down to nanoseconds the one that keeps the numbers short.
  TimeUnit unit = TimeUnit::Unit;
  /// Marks within [range.start, range.end], measured from time 0.
  std::vector<AxisTick> ticks;
};

/// An axis with at most `max_ticks` >= 2 marks over a range that is not empty.
[[nodiscard]] TimeAxis time_axis(Span range, TimeUnit unit, int max_ticks);

/// An axis with as many marks as fit: labels, `width_of(label)` wide, keep `gap` between them on an axis of length `extent`.
[[nodiscard]] TimeAxis fitted_time_axis(Span range, TimeUnit unit, double extent, double gap,
                                        const std::function<double(const std::string&)>& width_of);

/// Smallest of 1, 2, 5 times a power of ten that is >= value. REQUIRES: 1 <= value <= 2^62.
[[nodiscard]] std::int64_t nice_step(std::int64_t value);

}  // namespace pipeloom::draw
