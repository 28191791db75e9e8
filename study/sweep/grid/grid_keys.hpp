#pragma once

// Configuration keys that a grid may set, and the values that they take. The table of keys (sim/io/config/key.hpp) decides. The reader of the
// configuration checks that a number is in range: one that is not gives the point its status, and is no error of the grid.

#include <string>
#include <string_view>

#include <pipeloom/error.hpp>
#include "sim/io/config/key.hpp"
#include "sim/io/json/json_value.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::sweep {

/// A key in the spelling of configurations, from the spelling of the command line or a careless one: "--ranks", "costs.backward-input" and "Ranks"
/// are "ranks", "costs.backward_input" and "ranks". Throws InputError at `where` for keys that no configuration has. In addition to the table's
/// keys it takes places inside tables, "costs.backward.3" (of an array), "costs.backward.stages.3", "costs.backward.default", and
/// "costs.overlapped.factor".
[[nodiscard]] std::string normal_key(std::string_view key, const Where& where);

/// The row of a key that normal_key() returned, or of the table that it is a place of.
struct KeyRow {
  const io::Key* row = nullptr;
  bool is_place = false;  ///< a number inside the row's table
};
[[nodiscard]] KeyRow row_of(std::string_view key);

/// True if one is the other or a part of it: "costs" and "costs.forward".
[[nodiscard]] bool overlap(std::string_view key, std::string_view other);

/// Throws InputError (place, key, found, allowed) for a value of a type that the key does not take, for unknown names (keys inside of it,
/// schedules, choices), and for numbers of more digits than plain_decimal() takes. Goes into objects.
void require_type(const io::Value& value, std::string_view key);

/// Compact JSON with plain numbers: equal for values that are spelt differently only. `sorted`: keys of objects in alphabetical
/// order. REQUIRES: require_numbers() or require_type() accepted it.
void append_plain_json(std::string& out, const io::Value& value, bool sorted);
/// Throws InputError for numbers of more digits than plain_decimal() takes.
void require_numbers(const io::Value& value);

}  // namespace pipeloom::sweep
