#pragma once

// Choosing points of a sweep's result: conditions over keys and metrics, the best by a metric, the best of each group.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/sweep/result/table.hpp"
#include "study/text/expression.hpp"

namespace pipeloom::sweep {

/// Which rows an expression holds for. Names are keys (varying ones, and those of the base), metrics, 'status' and 'point'.
/// A row that lacks a value which the expression names does not match.
class RowFilter {
 public:
  /// Throws InputError at `where` for names that the result does not have. `table` outlives the filter.
  RowFilter(const ResultTable& table, Expression expression, const Where& where);
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

}  // namespace pipeloom::sweep
