#include "study/sweep/grid/grid_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "schedules/generator.hpp"
#include "sim/base/literals.hpp"
#include "sim/io/config/config_reader.hpp"
#include "sim/io/config/run_config.hpp"
#include "sim/io/json/json_text.hpp"
#include "study/text/decimal.hpp"

namespace pipeloom::sweep {
namespace {

using io::ConfigReader;
using io::KeyType;
using io::Value;
using io::ValueKind;

bool is_index(std::string_view text) {
  return !text.empty() && text.size() <= 7 && (text.size() == 1 || text[0] != '0') &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Whether `rest` is a place inside a value of this type.
bool is_place(KeyType type, std::string_view rest) {
  switch (type) {
    case KeyType::Overlapped:
      if (rest == "factor" || rest == "saving") return true;
      [[fallthrough]];
    case KeyType::TimeTable:
    case KeyType::BytesTable:
      return is_index(rest) || rest == "default" ||
             (rest.substr(0, 7) == "stages." && is_index(rest.substr(7)));
    case KeyType::Scales:
      if (rest == "default") return true;
      for (const std::string_view members : {"ranks.", "stages.", "microbatches."})
        if (rest.starts_with(members) && is_index(rest.substr(members.size()))) return true;
      return is_index(rest);
    case KeyType::Slices:
    case KeyType::Limit:
      return is_index(rest);
    default:
      return false;
  }
}

[[noreturn]] void fail_unknown(std::string_view key, const Where& where) {
  std::string parent;
  std::string_view name = key;
  for (auto dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.', dot + 1)) {
    if (io::child_keys(key.substr(0, dot)).empty()) break;
    parent = key.substr(0, dot);
    name = key.substr(dot + 1);
  }
  // "group_size" for "options.group_size".
  const std::string ending = "." + std::string(name);
  for (const io::ConfigKey& row : io::config_keys())
    if (parent.empty() && row.path.size() > ending.size() && row.path.ends_with(ending))
      throw InputError(where, fmt::format("unknown configuration key '{}'; did you mean '{}'?",
                                          shortened(name, 64), row.path));
  const std::string what = parent.empty() ? "configuration key" : fmt::format("key of {}", parent);
  throw InputError::unknown_name(where, what, shortened(name, 64), io::child_keys(parent));
}

bool is_one_of(std::string_view name, std::string_view choices) {
  while (!choices.empty()) {
    const auto bar = std::min(choices.find('|'), choices.size());
    if (choices.substr(0, bar) == name) return true;
    choices.remove_prefix(std::min(bar + 1, choices.size()));
  }
  return false;
}

void require_choice(const Value& value, const io::ConfigKey& row) {
  if (is_one_of(value.text(), row.choices)) return;
  std::vector<std::string> valid(1);
  for (const char c : row.choices)
    if (c == '|')
      valid.emplace_back();
    else
      valid.back() += c;
  throw InputError::unknown_name(value.where(), std::string(row.path), shortened(value.text(), 64), valid);
}

/// Kinds of JSON values that a type takes, and how people say it.
struct Takes {
  std::vector<ValueKind> kinds;
  std::string_view text;
};

Takes takes(KeyType type) {
  using K = ValueKind;
  switch (type) {
    case KeyType::Object:
      return {{K::Object}, "an object"};
    case KeyType::Text:
    case KeyType::Choice:
      return {{K::String}, "a string"};
    case KeyType::Flag:
      return {{K::Bool}, "true or false"};
    case KeyType::Count:
      return {{K::Number}, "a number"};
    case KeyType::Time:
      return {{K::Number, K::String}, "a time"};
    case KeyType::Bytes:
      return {{K::Number, K::String}, "a size"};
    case KeyType::Decimal:
      return {{K::Number, K::String, K::Null}, "a number, a quantity with its unit, or null"};
    case KeyType::Limit:
      return {{K::Number, K::String, K::Array, K::Null},
              "a number, a size, an array of one per rank, or null"};
    case KeyType::TimeTable:
    case KeyType::BytesTable:
      return {{K::Number, K::String, K::Array, K::Object},
              "a number, an array of one per stage, or {\"default\": 2, \"stages\": {\"3\": 2.5}}"};
    case KeyType::Overlapped:
      return {{K::Number, K::Array, K::Object, K::String},
              "a time or table, {\"factor\": x}, {\"saving\": t}, \"sequential\" or \"sum\""};
    case KeyType::Scales:
      return {{K::Array, K::Object}, "an array of factors, or a table of them"};
    case KeyType::Slices:
      return {{K::Number, K::Array}, "a whole number, or an array of whole weights"};
    case KeyType::Recompute:
    case KeyType::Offload:
      return {{K::String, K::Object}, "a word or an object"};
  }
  return {};
}

/// Whether a key of this type may have the string: a quantity with its unit where numbers are taken.
bool is_word(KeyType type, std::string_view text) {
  switch (type) {
    case KeyType::Overlapped:
      if (text == "sum" || text == "sequential") return true;
      [[fallthrough]];
    case KeyType::Time:
    case KeyType::TimeTable:
      return parse_time_literal(text).has_value();
    case KeyType::Bytes:
    case KeyType::BytesTable:
    case KeyType::Limit:
      return parse_bytes_literal(text).has_value();
    case KeyType::Decimal:
      return parse_rate_literal(text).has_value();
    default:
      return true;
  }
}

/// Every key of an object that stands at `path` exists, and so on below.
void require_members(const Value& object, const std::string& path) {
  io::require_known_keys(object, path);
  for (std::size_t i = 0; i < object.keys().size(); ++i) {
    const std::string& name = object.keys()[i].name;
    if (!path.empty() || name != "origin")
      require_type(object.items()[i], path.empty() ? name : path + "." + name);
  }
}

}  // namespace

std::string normal_key(std::string_view key, const Where& where) {
  std::string_view rest = key;
  if (rest.substr(0, 2) == "--") rest.remove_prefix(2);
  std::string normal;
  for (const char c : rest)
    normal += c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (row_of(normal).row == nullptr) fail_unknown(normal, where);
  return normal;
}

KeyRow row_of(std::string_view key) {
  if (const auto* row = io::find_config_key(key)) return {row, false};
  for (auto dot = key.rfind('.'); dot != std::string_view::npos && dot > 0; dot = key.rfind('.', dot - 1))
    if (const auto* row = io::find_config_key(key.substr(0, dot)))
      return is_place(row->type, key.substr(dot + 1)) ? KeyRow{row, true} : KeyRow{};
  return {};
}

bool overlap(std::string_view key, std::string_view other) {
  if (key.size() > other.size()) std::swap(key, other);
  return other.substr(0, key.size()) == key && (other.size() == key.size() || other[key.size()] == '.');
}

void require_type(const Value& value, std::string_view key) {
  const std::string path(key);
  if (path.empty()) {
    if (!value.is(ValueKind::Object)) ConfigReader::fail(value, "the configuration", "an object");
    require_members(value, path);
    return;
  }
  const auto [row, inside] = row_of(key);
  if (inside) {
    const bool is_factor = row->type == KeyType::Scales || row->type == KeyType::Slices;
    const bool is_text = !is_factor && value.is(ValueKind::String) && is_word(row->type, value.text());
    if (!value.is(ValueKind::Number) && !is_text) ConfigReader::fail(value, path, "a number");
    require_numbers(value);
    return;
  }
  const Takes allowed = takes(row->type);
  const bool is_file = path == "costs" && value.is(ValueKind::String);
  if (!is_file && std::find(allowed.kinds.begin(), allowed.kinds.end(), value.kind()) == allowed.kinds.end())
    ConfigReader::fail(value, path, allowed.text);
  if (!is_file && value.is(ValueKind::String) && !is_word(row->type, value.text()))
    ConfigReader::fail(value, path, allowed.text);
  if (row->type == KeyType::Choice) require_choice(value, *row);
  if (path == "schedule" && value.text() != io::kCustomSchedule)
    (void)schedules::find(value.text(), value.where());
  if (value.is(ValueKind::Object) && !io::child_keys(path).empty())
    require_members(value, path);
  else
    require_numbers(value);
}

void require_numbers(const Value& value) {
  if (value.is(ValueKind::Number) && !plain_decimal(value.text()))
    throw InputError(value.where(),
                     fmt::format("{} has more digits than any time or size; at most {} are read",
                                 value.described(), kMaxDecimalText));
  for (const Value& item : value.items()) require_numbers(item);
}

void append_plain_json(std::string& out, const Value& value, bool sorted) {
  if (value.is(ValueKind::Number)) {
    out += plain_decimal(value.text()).value();
  } else if (value.is(ValueKind::Array)) {
    out += '[';
    for (const Value& item : value.items()) {
      if (out.back() != '[') out += ',';
      append_plain_json(out, item, sorted);
    }
    out += ']';
  } else if (value.is(ValueKind::Object)) {
    std::vector<std::size_t> order(value.keys().size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (sorted)
      std::sort(order.begin(), order.end(), [&value](std::size_t a, std::size_t b) {
        return value.keys()[a].name < value.keys()[b].name;
      });
    out += '{';
    for (const std::size_t i : order) {
      if (out.back() != '{') out += ',';
      io::append_json_string(out, value.keys()[i].name);
      out += ':';
      append_plain_json(out, value.items()[i], sorted);
    }
    out += '}';
  } else {
    out += value.canonical_text();
  }
}

}  // namespace pipeloom::sweep
