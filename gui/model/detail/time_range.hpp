#pragma once

namespace pipeloom::gui {

/// The visible stretch of time, in ticks. Floating point, so that zooming at the pointer is exact to a pixel and returns to where
/// it came from. All stacked runs share it.
struct TimeRange {
  double start = 0;
  double end = 1;
  [[nodiscard]] double length() const { return end - start; }
  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

}  // namespace pipeloom::gui
