#pragma once

// Axes of a grid: the values that keys take. Ranges are never expanded, value i is computed from i; lists are kept as they stand.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/io/json/json_value.hpp"
#include "study/text/decimal.hpp"
#include "study/text/expression.hpp"

namespace pipeloom::sweep {

/// {from, to, step} or {from, to, steps}: value(i) = from + span * i / parts, rounded to the nearest nine places.
/// A step s has span = s and parts = 1; n steps have span = to - from and parts = n - 1.
struct Range {
  Nano from = 0;
  Nano span = 0;
  Nano parts = 1;
  std::uint64_t size = 0;
  /// REQUIRES: i < size.
  [[nodiscard]] Nano value(std::uint64_t i) const;
};

/// One value of a list.
struct ListValue {
  std::string json;  ///< compact, numbers plain
  /// For expressions; nothing for values that are neither numbers of nine places, texts nor truths.
  std::optional<Operand> operand;
  /// What the configuration gets. Of "costs": "file.json" it is what the file holds.
  io::Value value;
  std::uint64_t leaves = 0;  ///< leaf_sum() of it (study/sweep/grid/leaves.hpp)
};

/// The values of one key along an axis.
struct AxisKey {
  std::uint32_t key = 0;  ///< position in Grid::keys()
  std::string name;
  Where where;                  ///< of the values
  std::optional<Range> range;   ///< or
  std::vector<ListValue> list;  ///< what a list or a factor gives
  [[nodiscard]] std::uint64_t size() const { return range ? range->size : list.size(); }
};

/// Keys that move together: one of "axes", or several of a zip.
struct Axis {
  std::vector<AxisKey> columns;
  [[nodiscard]] std::uint64_t size() const { return columns.front().size(); }
};

/// Most values that {from, to, factor} may give: they are kept.
inline constexpr std::size_t kMaxFactorValues = 100'000;

/// Reads the values of `key` (normal): a list, or an object with from, to and one of step, steps, factor. Throws InputError for anything
/// else; for empty lists and ranges, ranges that never end, values of a type that the key does not take, and fractions where it takes whole
/// numbers. A costs file is read; its name is relative to the file that `values` stands in.
[[nodiscard]] AxisKey read_axis_key(const std::string& key, const io::Value& values);

/// What an expression sees of a JSON value.
[[nodiscard]] std::optional<Operand> operand_of(const io::Value& value);

/// Reads a costs file that `name` names: an object. Throws InputError as io::inline_costs_file() does.
[[nodiscard]] io::Value read_costs_file(const io::Value& name);

}  // namespace pipeloom::sweep
