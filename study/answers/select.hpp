#pragma once

// Choosing points of a sweep's result: conditions over keys and metrics, the best by a metric, the best of each group.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/report/metric.hpp"
#include "study/sweep/result/table.hpp"
#include "study/text/expression.hpp"

namespace pipeloom::sweep {

/// The rows for which an expression holds. Names are keys (varying ones, and those of the base), metrics, 'status' and 'point'.
/// A row that lacks a value which the expression names does not match.
class RowFilter {
 public:
  /// Times of `condition` with a unit count in that of the result. Throws InputError at `where` for what is no expression, for names that
  /// the result does not have, and for metrics that are compared with a number of another unit. `table` outlives the filter.
  RowFilter(const ResultTable& table, std::string_view condition, const Where& where);
  [[nodiscard]] bool matches(Row row) const;
  [[nodiscard]] bool asks_status() const;

 private:
  struct Name {
    enum class Kind : std::uint8_t { Column, Constant, Status, Point };
    Kind kind = Kind::Column;
    const Column* column = nullptr;
    Operand constant;
  };
  [[nodiscard]] Name resolve(const std::string& name, const Where& where) const;
  [[nodiscard]] Operand value(const Name& name, Row row) const;

  const ResultTable* table_;
  Expression expression_;
  std::vector<Name> names_;
};

/// Rows for which all filters hold, in the result's order. Only points with status ok, unless a filter asks for the status.
[[nodiscard]] std::vector<Row> select_rows(const ResultTable& table, std::span<const RowFilter> filters);

/// True if less is better. Metrics without a better direction count as less is better.
[[nodiscard]] bool less_is_better(std::string_view metric);

/// The `most` best of `rows` by a metric, best first; equal ones in the result's order. Rows without the metric are left out.
/// O(n + most log most).
[[nodiscard]] std::vector<Row> best_rows(const ResultTable& table, const std::vector<Row>& rows,
                                         std::string_view metric, std::size_t most);

struct RowGroup {
  std::string value;
  std::vector<Row> best;
};
/// The `most` best of each value of `key`, groups by value.
[[nodiscard]] std::vector<RowGroup> best_of_groups(const ResultTable& table, const std::vector<Row>& rows,
                                                   std::string_view key, std::string_view metric,
                                                   std::size_t most);

// Axes of scatters: the position of a value, and the values that are written beside the axis.

/// A metric's value for people: "33.5 ms", "1.5 GB (1.4 GiB)", "27.3 %", "64", "4 activations"; "-" where there is none. Six digits that count of a time.
[[nodiscard]] std::string metric_text(std::string_view metric, const Column& column, Row row,
                                      const ValueUnits& units);
/// The same for a number that is no point's: a mean, a range.
[[nodiscard]] std::string metric_number(std::string_view metric, double value, const ValueUnits& units);
/// "makespan, ms", "peak_bytes": the title of an axis.
[[nodiscard]] std::string metric_title(std::string_view metric, std::string_view time_unit);

/// The unit of the metric's row; Unit::Count for a name that is no metric.
[[nodiscard]] study::Unit metric_unit(std::string_view metric);

struct AxisMark {
  double value = 0;
  std::string text;
};

/// Values to 0 .. 1. Logarithmic where all values are above zero and the largest is more than kLogFrom times the smallest.
class Scale {
 public:
  static constexpr double kLogFrom = 40;

  Scale() = default;
  /// Marks are round in the unit: powers of two for sizes, of ten for the others. REQUIRES: finite values, least <= most. A little room is
  /// left on both sides; a single value is in the middle.
  Scale(double least, double most, study::Unit unit);

  [[nodiscard]] bool is_log() const { return log_; }
  [[nodiscard]] double place(double value) const;
  [[nodiscard]] double value_at(double place) const;
  /// Round values within the axis, rising, some `about` of them: from 2 to 2 * about.
  [[nodiscard]] std::vector<AxisMark> marks(std::size_t about) const;

 private:
  [[nodiscard]] std::vector<double> linear_marks(std::size_t about) const;
  [[nodiscard]] std::vector<double> log_marks(std::size_t about) const;
  [[nodiscard]] bool in_bytes() const { return unit_ == study::Unit::Bytes; }

  bool log_ = false;
  study::Unit unit_ = study::Unit::Count;
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
