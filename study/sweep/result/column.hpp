#pragma once

// One column of a sweep's result: the values of a key or a metric, of millions of points, in eight bytes each or less.
//
// A column takes the kind that holds all its values exactly and changes it when a value comes that does not fit:
//
//   Fixed   integers in units of 10^-decimals: counts, decimals of keys, times    8 bytes
//   Real    the nearest double: ratios, whose texts are shortest round trips      8 bytes
//   Text    a place in a list of distinct values: names, arrays, mixtures         4 bytes
//
// Two values are equal exactly if their texts mean the same, so ties and Pareto fronts need no tolerance.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "study/text/expression.hpp"

namespace pipeloom::sweep {

/// A line of the result that is in memory, from 0.
using Row = std::uint32_t;

class Column {
 public:
  enum class Kind : std::uint8_t { Fixed, Real, Text };

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is_number() const { return kind_ != Kind::Text; }
  [[nodiscard]] std::size_t size() const { return kind_ == Kind::Text ? codes_.size() : bits_.size(); }

  void reserve(std::size_t rows);
  /// Frees the memory that growing took but the column does not need.
  void shrink();
  /// Appends a value, compact JSON: "8", "1.25", "\"zb-h1\"", "[1,2]".
  void add(std::string_view json);
  void add_missing();

  [[nodiscard]] bool has(Row row) const;
  /// REQUIRES: is_number(). NaN where there is none.
  [[nodiscard]] double number(Row row) const;
  /// As people read it: "33.0", "zb-h1", "[1,2]"; "-" where there is none. Times keep one decimal at least, as in the file.
  [[nodiscard]] std::string text(Row row) const;
  /// Compact JSON, "null" where there is none.
  [[nodiscard]] std::string json(Row row) const;
  /// For expressions. REQUIRES: has(row). Throws InputError for numbers that expressions cannot represent.
  [[nodiscard]] Operand operand(Row row) const;

  /// Numbers by value, texts by their letters, missing values last.
  [[nodiscard]] std::strong_ordering compare(Row a, Row b) const;
  /// An integer that orders as compare() does. REQUIRES: is_number().
  [[nodiscard]] std::int64_t rank(Row row) const;
  /// Equal for equal values and for no others.
  [[nodiscard]] std::uint64_t bits(Row row) const {
    return kind_ == Kind::Text ? codes_[row] : static_cast<std::uint64_t>(bits_[row]);
  }
  [[nodiscard]] std::size_t bytes() const;

 private:
  bool add_fixed(std::string_view number);
  void add_text(std::string_view json);
  [[nodiscard]] bool rescale(int decimals);
  void to_real();
  void to_text();

  Kind kind_ = Kind::Fixed;
  int decimals_ = 0;         ///< of Fixed
  bool all_pointed_ = true;  ///< every number had a decimal point
  /// Fixed: the integer; Real: the double's bits.
  std::vector<std::int64_t> bits_;
  std::vector<std::uint32_t> codes_;
  std::vector<std::string> texts_;  ///< JSON, [code]
  std::unordered_map<std::string, std::uint32_t> code_of_;
};

/// The distinct values of some rows, in order.
struct Levels {
  /// level_of[i] is the level of rows[i]; kNone where the row has no value.
  std::vector<std::uint32_t> level_of;
  /// A row that has the value, [level].
  std::vector<Row> example;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
};
/// O(n log n).
[[nodiscard]] Levels levels_of(const Column& column, const std::vector<Row>& rows);

}  // namespace pipeloom::sweep
