#pragma once

// Axes of a grid: the values that keys take. Ranges are never expanded, value i is computed from i; lists are kept as written.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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
  /// The value that the configuration gets; for "costs": "file.json" the file's content.
  io::Value value;
  std::uint64_t leaves = 0;  ///< leaf_sum() of it (study/sweep/grid/axis.hpp)
};

/// The values of one key along an axis.
struct AxisKey {
  std::uint32_t key = 0;  ///< position in Grid::keys()
  std::string name;
  Where where;                  ///< of the values
  std::optional<Range> range;   ///< or
  std::vector<ListValue> list;  ///< of a list or a factor
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
/// numbers. A costs file is read; its name is relative to the file that holds `values`.
[[nodiscard]] AxisKey read_axis_key(const std::string& key, const io::Value& values);

/// The operand that a JSON value is in an expression; nothing for values that are neither numbers of nine places, texts nor truths.
[[nodiscard]] std::optional<Operand> operand_of(const io::Value& value);

/// Reads a costs file that `name` names: an object. Throws InputError as io::inline_costs_file() does.
[[nodiscard]] io::Value read_costs_file(const io::Value& name);

// Identity of a configuration, whatever grid it comes from. A configuration is the set of its leaves, "costs.backward.3" = 2.5; its identity
// is made of the sum of their hashes, so that the leaves which a grid varies are exchanged without looking at the rest again.
//
// Leaves are plain: numbers as plain_decimal() writes them, schedules by their own name (with the alias after it if that
// brings defaults of its own). Empty objects have no leaves, and neither has "origin", which no reader looks at.

/// Hash of one leaf. `json` is plain: "1.5", "\"sum\"".
[[nodiscard]] std::uint64_t leaf_hash(std::string_view key, std::string_view json);
/// Sum (modulo 2^64) of the hashes of the leaves of the value of `key` ("" for a whole configuration), without those
/// at and below the keys in `except`.
[[nodiscard]] std::uint64_t leaf_sum(const io::Value& value, std::string_view key,
                                     const std::vector<std::string_view>& except = {});
/// A schedule's name in identities: "zb-h1" for zb1p, "interleaved-1f1b/Interleaved1F1B" for an alias that brings defaults, the name
/// itself where there is no such schedule.
[[nodiscard]] std::string schedule_identity(std::string_view name);
/// 16 hexadecimal digits of a sum.
[[nodiscard]] std::string identity_text(std::uint64_t sum);

}  // namespace pipeloom::sweep
