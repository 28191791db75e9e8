#pragma once

// A configuration key: one row that the reader, --set, axes, the JSON Schema, `--keys`, completion, the effective configuration and
// the window's fields ask. The rows are in keys.cpp, the forms of values in codecs.hpp.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/schedules.hpp>
#include "sim/io/json/json_value.hpp"

namespace pipeloom::io {

class TextWriter;
struct EffectiveConfig;
struct ReadContext;
struct Config;
struct Key;

/// The type of a key's value. The field that the window draws depends on it.
enum class KeyType : unsigned char {
  Object,      ///< a group of further keys
  Text,        ///< a string
  Choice,      ///< one of `choices`
  Flag,        ///< true or false
  Count,       ///< a whole number from `minimum` to `maximum`
  Decimal,     ///< a decimal number, or a rate: "400Gbit/s"
  Time,        ///< a decimal number of time units, or a literal: "23.6ms"
  TimeTable,   ///< a time, an array of one per stage, or {"default": t, "stages": {"3": t}}
  Overlapped,  ///< a TimeTable, {"pairs": [[t]]}, {"factor": x}, {"saving": t}, "sequential" or "sum"
  Bytes,       ///< a whole number of bytes, or a literal: "80GB"
  BytesTable,  ///< bytes, an array of one per stage, or a table
  Limit,       ///< bytes, an array of one per rank, or null for none
  Scales,      ///< an array of decimal factors, or {"default": 1, "ranks": {"2": 1.1}}
  Slices,      ///< a number of equal slices, or an array of weights
  GroupSize,   ///< a whole number from `minimum` to `maximum`, or an array of such
  Counts,      ///< an array of whole numbers from `minimum` to `maximum`
  Documents,   ///< an array of lengths, or an array of such arrays, one per microbatch
  Recompute,   ///< "none", "full" or an object
  Offload,     ///< "none", "all" or an object
  Rows,        ///< an array of rows with the costs of single ops, or the name of a file of them
  Noise,       ///< an object: {"model": "lognormal", "sigma": 0.03}
  Links,       ///< an array of links between two ranks, or matrices of all
};

/// Groups for the help page and the window.
enum class KeyClass : unsigned char { Shape, Option, Cost, Transfer, Memory, Step };

/// Decision: a person chooses the value. Environment: model and cluster dictate it.
enum class KeyRole : unsigned char { Environment, Decision };

/// Set of ValueKind, by bit.
using ValueKinds = unsigned;
[[nodiscard]] constexpr ValueKinds value_kinds(std::initializer_list<ValueKind> list) {
  ValueKinds set = 0;
  for (const ValueKind kind : list) set |= 1U << static_cast<unsigned>(kind);
  return set;
}

/// The form of a codec's values as text, whatever key has them.
struct Form {
  std::string_view help;  ///< for `--keys`: "a whole number"
  ValueKinds kinds;       ///< of the JSON values
  std::string_view kinds_text;
  /// Returns true if a string may be the value; null: any may, or none.
  bool (*is_word)(std::string_view text) = nullptr;
  /// Returns true if "KEY.rest" is a place inside a value; null: no value has such.
  bool (*is_place)(std::string_view rest) = nullptr;
  bool is_number = false;  ///< ranges and arithmetic make sense
  bool is_whole = false;
  bool is_listed = false;  ///< default_text is a value: a word, not an explanation
  /// The keywords of the JSON Schema, without braces.
  std::string (*schema)(const Key& key) = nullptr;
};

/// A key as a person states it. Only fields that differ from these defaults are written.
struct KeyRow {
  std::string_view path;  ///< "costs.transfer.latency"
  KeyClass group = KeyClass::Shape;
  KeyRole role = KeyRole::Environment;
  std::string_view unit = {};          ///< "time_unit", "bytes", "1e9 bit/s" or ""
  std::string_view default_text = {};  ///< as people read it: "0", "2 where the schedule wants it, else 1"
  std::string_view help = {};          ///< one line
  std::string_view choices = {};       ///< "stage|rank|model", in the order of the enum
  long long minimum = 0;               ///< of Count, Counts, GroupSize and Slices
  long long maximum = 0;
  /// The option that gives the key on the command line, for keys that a run must have: "--ranks P".
  std::string_view required = {};
  /// The key without which it means nothing, and is refused: "costs.model".
  std::string_view needs = {};
  /// The key that may be given instead, "costs.global_batch": this one follows from it.
  std::string_view instead = {};
  /// Only schedules that take it may be given it: what they have, for error texts ("variants"), and for their page.
  std::optional<Option> option = std::nullopt;
  std::string_view noun = {};
  std::string_view page = {};  ///< "{}" is replaced by the schedule's own default
  /// The default of "chunks" depends on it.
  bool decides_chunks = false;
  /// False where another key's rule looks at the value, so that it must be read together with that key.
  bool patchable = true;
  /// Of a group: exactly one of its keys is given, as this text says.
  std::string_view exactly_one = {};
  /// Returns true if the key means anything in a run, and so has a value and an origin; null: it always does.
  bool (*holds)(const EffectiveConfig& config) = nullptr;
  bool has_origin = true;
  /// Place among its siblings in the effective configuration; 0 for the table's order.
  int written_at = 0;
};

/// The functions of a key, made from its row, its codec and its member of Config. Members are null for groups.
struct Key : KeyRow {
  KeyType type = KeyType::Object;
  const Form* form = nullptr;
  /// Stores a value. Throws InputError.
  void (*read)(Config& config, const Value& value, const ReadContext& context) = nullptr;
  /// Returns true if the configuration has a value.
  bool (*has)(const Config& config) = nullptr;
  /// Stores the value that `from` has. Of options only.
  void (*take)(Config& config, const Config& from) = nullptr;
  /// Writes it as JSON; null for groups, whose keys are written. REQUIRES: has().
  void (*write)(const Key& key, TextWriter& out, const Config& config) = nullptr;
  /// Of a group that may be written as one word: the word, where all keys below it have their defaults.
  std::string_view (*word)(const Config& config) = nullptr;
  /// Stores what reading this JSON would; `index` is the entry of an array, or kWhole. False if the value must be read in full. Null for
  /// keys that are always read in full.
  bool (*patch)(const Key& key, Config& config, std::size_t index, std::string_view json,
                const Where& where) = nullptr;
  bool patches_whole = false;
  bool patches_entries = false;
  /// Mixes the value of an option into a hash; null for other keys.
  std::size_t (*mix)(const ScheduleOptions& options, std::size_t hash) = nullptr;
};
inline constexpr std::size_t kWhole = static_cast<std::size_t>(-1);

/// A key's place in the table.
using KeyId = std::uint8_t;

/// Every key, parents before children, in the order of the effective configuration.
[[nodiscard]] std::span<const Key> config_keys();
/// The row of `path`, or null.
[[nodiscard]] const Key* find_config_key(std::string_view path);
[[nodiscard]] inline KeyId id_of(const Key& key) {
  return static_cast<KeyId>(&key - config_keys().data());
}
/// Keys directly below a key, or the top level for null, in table order.
[[nodiscard]] std::span<const KeyId> children_of(const Key* parent);
/// "latency" of "costs.transfer.latency".
[[nodiscard]] std::string_view name_of(const Key& key);
/// Names of the keys directly below `parent` ("" for the top level), in table order.
[[nodiscard]] std::vector<std::string> child_keys(std::string_view parent);
/// The words of `choices`.
[[nodiscard]] std::vector<std::string> choices_of(const Key& key);

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
/// The schema's properties of the keys below `parent`.
[[nodiscard]] std::string schema_properties(std::string_view parent, const std::string& indent);

}  // namespace pipeloom::io
