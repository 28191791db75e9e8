#pragma once

// The one table of configuration keys: what --set, error texts, the JSON Schema, grids and the window's fields know
// about each key comes from here. Readers take the values (run_config.cpp); this table says which exist.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/io/json/json_value.hpp"

namespace pipeloom::io {

/// What a key takes.
enum class KeyType : unsigned char {
  Object,      ///< a group of further keys
  Text,        ///< a string
  Choice,      ///< one of `choices`
  Flag,        ///< true or false
  Count,       ///< a whole number from `minimum` to `maximum`
  Decimal,     ///< a decimal number, or a rate: "400Gbit/s"
  Time,        ///< a decimal number of time units, or a literal: "23.6ms"
  TimeTable,   ///< a time, an array of one per stage, or {"default": t, "stages": {"3": t}}
  Overlapped,  ///< a TimeTable, {"factor": x}, {"saving": t}, "sequential" or "sum"
  Bytes,       ///< a whole number of bytes, or a literal: "80GB"
  BytesTable,  ///< bytes, an array of one per stage, or a table
  Limit,       ///< bytes, an array of one per rank, or null for none
  Scales,      ///< an array of decimal factors, or {"default": 1, "ranks": {"2": 1.1}}
  Slices,      ///< a number of equal slices, or an array of weights
  Recompute,   ///< "none", "full" or an object
  Offload,     ///< "none", "all" or an object
};

/// Groups for the help page and the window.
enum class KeyClass : unsigned char { Shape, Option, Cost, Transfer, Memory, Step };

struct ConfigKey {
  std::string_view path;  ///< "costs.transfer.latency"
  KeyType type;
  KeyClass group;
  std::string_view unit;  ///< "time_unit", "bytes", "1e9 bit/s" or ""
  std::string_view
      default_text;  ///< as people read it: "0", "2 where the schedule wants it, else 1", or "" if required
  std::string_view help;          ///< one line
  std::string_view choices = {};  ///< "stage|rank|model"
  long long minimum = 0;          ///< of Count
  long long maximum = 0;
};

/// Every key, parents before children, in the order of the effective configuration.
[[nodiscard]] std::span<const ConfigKey> config_keys();
/// The row of `path`, or null.
[[nodiscard]] const ConfigKey* find_config_key(std::string_view path);
/// Names of the keys directly below `parent` ("" for the top level), in table order.
[[nodiscard]] std::vector<std::string> child_keys(std::string_view parent);

/// Throws InputError for the first key of `object` that does not exist below `parent`, naming the nearest and all valid
/// ones; for keys of other schedules' options it says that this version does not have them. The top-level key "origin",
/// which reports add to the effective configuration, is let through.
void require_known_keys(const Value& object, std::string_view parent);

/// The table as text for people: one block per key.
[[nodiscard]] std::string config_keys_help();
/// The same as JSON: {"schema_version", "keys": [{"key", "takes", "choices", "minimum", "maximum", "unit", "default", "help"}]}; a key
/// without "default" is required.
[[nodiscard]] std::string config_keys_json();
/// JSON Schema (draft 2020-12) of a configuration, made from the table.
[[nodiscard]] std::string config_schema();

}  // namespace pipeloom::io
