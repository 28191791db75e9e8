#include "study/answers/scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/report/metric.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::sweep {
namespace {

/// Share of the axis that is left free at each end.
constexpr double kRoom = 0.04;
/// Marks may stand so much closer than asked for.
constexpr double kCloser = 0.8;
/// Sizes below are counts of something abstract rather than bytes of a device.
constexpr double kSomeBytes = 4096;

using study::Unit;

/// Counts for what is no metric.
Unit unit_of(std::string_view metric) {
  const study::Metric* known = study::metric_named(metric);
  return known == nullptr ? Unit::Count : known->unit;
}

/// The smallest 1, 2 or 5 times a power of ten, or power of two, that is not below `least`.
double round_step(double least, Marks marks) {
  if (marks == Marks::Bytes) return std::exp2(std::ceil(std::log2(least)));
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

}  // namespace

std::string metric_number(std::string_view metric, double value, std::string_view time_unit) {
  const Unit unit = unit_of(metric);
  if (unit == Unit::Ratio) return study::ratio_text(value);
  if (unit == Unit::Bytes && std::abs(value) < 9e18)
    return bytes_text(static_cast<Bytes>(std::llround(value)));
  const std::string text = fmt::format("{:.6g}", value);
  return unit == Unit::Time && !time_unit.empty() ? fmt::format("{} {}", text, time_unit) : text;
}

std::string metric_text(std::string_view metric, const Column& column, Row row, std::string_view time_unit) {
  if (!column.has(row) || !column.is_number()) return column.text(row);
  const Unit unit = unit_of(metric);
  if (unit == Unit::Ratio || unit == Unit::Bytes) return metric_number(metric, column.number(row), time_unit);
  // Counts and times have all their digits.
  return unit == Unit::Time && !time_unit.empty() ? fmt::format("{} {}", column.text(row), time_unit)
                                                  : column.text(row);
}

std::string metric_title(std::string_view metric, std::string_view time_unit) {
  const bool is_time = unit_of(metric) == Unit::Time && !time_unit.empty();
  return is_time ? fmt::format("{}, {}", metric, time_unit) : std::string(metric);
}

Marks marks_of(std::string_view metric) {
  return unit_of(metric) == Unit::Bytes ? Marks::Bytes : Marks::Decimal;
}

Scale::Scale(double least, double most, Marks marks)
    : log_(least > 0 && most > kLogFrom * least),
      marks_(most < kSomeBytes ? Marks::Decimal : marks),
      from_(log_ ? std::log(least) : least),
      to_(log_ ? std::log(most) : most) {
  double room = kRoom * (to_ - from_);
  if (room == 0) room = from_ == 0 ? 1 : std::abs(from_) / 2;
  from_ -= room;
  to_ += room;
}

double Scale::place(double value) const {
  return ((log_ ? std::log(value) : value) - from_) / (to_ - from_);
}

double Scale::value_at(double place) const {
  const double at = from_ + place * (to_ - from_);
  return log_ ? std::exp(at) : at;
}

std::vector<AxisMark> Scale::marks(std::size_t about) const {
  std::vector<AxisMark> out;
  for (const double value : log_ ? log_marks(about) : linear_marks(about))
    out.push_back({value, mark_text(value)});
  return out;
}

std::vector<double> Scale::linear_marks(std::size_t about) const {
  const double step = round_step(kCloser * (to_ - from_) / static_cast<double>(about), marks_);
  std::vector<double> out;
  for (double i = std::ceil(from_ / step); i * step <= to_; ++i) out.push_back(i == 0 ? 0 : i * step);
  return out;
}

std::vector<double> Scale::log_marks(std::size_t about) const {
  const double base = marks_ == Marks::Bytes ? 2 : 10;
  const double first = std::floor(from_ / std::log(base));
  const double last = std::ceil(to_ / std::log(base));
  const double powers = (to_ - from_) / std::log(base);
  // Every power, or every n-th; where few powers fit, what lies between them too.
  const double every = std::max(1.0, std::ceil(kCloser * powers / static_cast<double>(about)));
  const bool between = marks_ == Marks::Decimal && powers * 2 <= static_cast<double>(about);
  std::vector<double> out;
  for (double power = first; power <= last; power += every)
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(base, power);
      if ((factor == 1 || between) && std::log(value) >= from_ && std::log(value) <= to_)
        out.push_back(value);
    }
  return out;
}

std::string Scale::mark_text(double value) const {
  if (marks_ == Marks::Bytes && std::abs(value) < 9e18) return bytes_text(static_cast<Bytes>(value));
  return fmt::format("{:.6g}", value);
}

Extent extent_of(const Column& column, const std::vector<Row>& rows) {
  Extent out;
  bool any = false;
  for (const Row row : rows) {
    if (!column.has(row)) continue;
    const double value = column.number(row);
    out.least = any ? std::min(out.least, value) : value;
    out.most = any ? std::max(out.most, value) : value;
    any = true;
  }
  return out;
}

}  // namespace pipeloom::sweep
