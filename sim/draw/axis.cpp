#include "sim/draw/axis.hpp"

#include <algorithm>
#include <cmath>

namespace pipeloom::draw {
namespace {

/// The unit in which `length` has one to four digits before the point.
TimeUnit short_unit(TimeUnit unit, Ticks length) {
  if (unit == TimeUnit::Unit) return unit;
  for (const TimeUnit candidate : {TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond}) {
    if (length >= ticks_per(candidate)) return candidate;
  }
  return TimeUnit::Nanosecond;
}

/// "1500.0" -> "1500", "0.250" -> "0.25".
std::string short_number(Ticks ticks, TimeUnit unit) {
  std::string text = format_ticks(ticks, unit);
  if (text.find('.') == std::string::npos) return text;
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::int64_t nice_step(std::int64_t value) {
  std::int64_t power = 1;
  while (power <= value / 10) power *= 10;
  for (const std::int64_t factor : {1, 2, 5}) {
    if (power * factor >= value) return power * factor;
  }
  return power * 10;
}

TimeAxis time_axis(Span range, TimeUnit unit, int max_ticks) {
  TimeAxis axis;
  axis.unit = short_unit(unit, std::max(std::abs(range.start), std::abs(range.end)));
  const Ticks gaps = std::max(1, max_ticks - 1);
  axis.step = nice_step(std::max<Ticks>(1, (range.length() + gaps - 1) / gaps));
  Ticks time = range.start / axis.step * axis.step;
  if (time < range.start) time += axis.step;
  for (; time <= range.end; time += axis.step) {
    axis.ticks.push_back({time, short_number(time, axis.unit)});
  }
  return axis;
}

TimeAxis fitted_time_axis(Span range, TimeUnit unit, double extent, double gap,
                          const std::function<double(const std::string&)>& width_of) {
  int count = std::max(2, static_cast<int>(extent / (width_of("0") + gap)) + 1);
  TimeAxis axis = time_axis(range, unit, count);
  for (; count > 2; count = std::max(2, count - std::max(1, count / 8))) {
    axis = time_axis(range, unit, count);
    double widest = 0;
    for (const AxisTick& tick : axis.ticks) widest = std::max(widest, width_of(tick.label));
    const double apart = extent * static_cast<double>(axis.step) / static_cast<double>(range.length());
    if (widest + gap <= apart) return axis;
  }
  return time_axis(range, unit, 2);
}

}  // namespace pipeloom::draw
