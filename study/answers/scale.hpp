#pragma once

// Axes of scatters: where a value stands and which values are written beside the axis.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "study/sweep/result/table.hpp"

namespace pipeloom::sweep {

/// A metric's value for people: "33.5 ms", "1.5 GiB", "0.2727", "64"; "-" where there is none. `time_unit` of the result.
[[nodiscard]] std::string metric_text(std::string_view metric, const Column& column, Row row,
                                      std::string_view time_unit);
/// The same for a number that is no point's: a mean, a range.
[[nodiscard]] std::string metric_number(std::string_view metric, double value, std::string_view time_unit);
/// "makespan, ms", "peak_bytes": what an axis is called.
[[nodiscard]] std::string metric_title(std::string_view metric, std::string_view time_unit);

/// What marks are made of: powers of ten, or of two for sizes.
enum class Marks : unsigned char { Decimal, Bytes };
[[nodiscard]] Marks marks_of(std::string_view metric);

struct AxisMark {
  double value = 0;
  std::string text;
};

/// Values to 0 .. 1. Logarithmic where all values are above zero and the largest is more than kLogFrom times the smallest.
class Scale {
 public:
  static constexpr double kLogFrom = 40;

  Scale() = default;
  /// REQUIRES: finite values, least <= most. A little room is left on both sides; one value only stands in the middle.
  Scale(double least, double most, Marks marks);

  [[nodiscard]] bool is_log() const { return log_; }
  [[nodiscard]] double place(double value) const;
  [[nodiscard]] double value_at(double place) const;
  /// Round values within the axis, rising, some `about` of them: from 2 to 2 * about.
  [[nodiscard]] std::vector<AxisMark> marks(std::size_t about) const;

 private:
  [[nodiscard]] std::vector<double> linear_marks(std::size_t about) const;
  [[nodiscard]] std::vector<double> log_marks(std::size_t about) const;
  [[nodiscard]] std::string mark_text(double value) const;

  bool log_ = false;
  Marks marks_ = Marks::Decimal;
  double from_ = 0;  // of the axis; logarithms if log_
  double to_ = 1;
};

/// Smallest and largest number of a column among rows that have one; both 0 if none does.
struct Extent {
  double least = 0;
  double most = 0;
};
[[nodiscard]] Extent extent_of(const Column& column, const std::vector<Row>& rows);

}  // namespace pipeloom::sweep
