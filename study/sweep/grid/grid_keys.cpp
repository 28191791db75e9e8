// Patches of a configuration with one value of a key, by the key's own Key::patch. A test compares them with the reader.

#include "study/sweep/grid/grid_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <vector>

#include "schedules/generator.hpp"
#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/config/config.hpp"
#include "sim/io/config/key.hpp"
#include "sim/io/config/value_reading.hpp"
#include "sim/io/json/json_text.hpp"
#include "sim/kinds.hpp"
#include "study/sweep/grid/grid_template.hpp"
#include "study/text/decimal.hpp"

namespace pipeloom::sweep {

namespace {

using io::Value;
using io::ValueKind;

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
  for (const io::Key& row : io::config_keys())
    if (parent.empty() && row.path.size() > ending.size() && row.path.ends_with(ending))
      throw InputError(where, fmt::format("unknown configuration key '{}'; did you mean '{}'?",
                                          shortened(name, 64), row.path));
  const std::string what = parent.empty() ? "configuration key" : fmt::format("key of {}", parent);
  throw InputError::unknown_name(where, what, shortened(name, 64), io::child_keys(parent));
}

void require_choice(const Value& value, const io::Key& row) {
  const std::vector<std::string> valid = io::choices_of(row);
  if (std::find(valid.begin(), valid.end(), value.text()) == valid.end())
    throw InputError::unknown_name(value.where(), std::string(row.path), shortened(value.text(), 64), valid);
}

/// True if a key of this form may have the string: a quantity with its unit where numbers are taken.
bool is_word(const io::Form& form, const std::string& text) {
  return form.is_word == nullptr || form.is_word(text);
}

/// Throws InputError unless every key of the object at `path` exists, and so on below.
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
  for (const char c : rest) normal += c == '-' ? '_' : lower(c);
  if (row_of(normal).row == nullptr) fail_unknown(normal, where);
  return normal;
}

KeyRow row_of(std::string_view key) {
  if (const auto* row = io::find_config_key(key)) return {row, false};
  for (auto dot = key.rfind('.'); dot != std::string_view::npos && dot > 0; dot = key.rfind('.', dot - 1))
    if (const auto* row = io::find_config_key(key.substr(0, dot)))
      return row->form->is_place != nullptr && row->form->is_place(key.substr(dot + 1)) ? KeyRow{row, true}
                                                                                        : KeyRow{};
  return {};
}

bool overlap(std::string_view key, std::string_view other) {
  if (key.size() > other.size()) std::swap(key, other);
  return other.substr(0, key.size()) == key && (other.size() == key.size() || other[key.size()] == '.');
}

void require_type(const Value& value, std::string_view key) {
  const std::string path(key);
  if (path.empty()) {
    if (!value.is(ValueKind::Object)) io::refuse_value(value, "the configuration", "an object");
    require_members(value, path);
    return;
  }
  const auto [row, inside] = row_of(key);
  if (inside) {
    const bool is_text =
        row->form->is_word != nullptr && value.is(ValueKind::String) && row->form->is_word(value.text());
    if (!value.is(ValueKind::Number) && !is_text) io::refuse_value(value, path, "a number");
    require_numbers(value);
    return;
  }
  const io::Form& form = *row->form;
  const bool is_file = path == "costs" && value.is(ValueKind::String);
  if (!is_file && (form.kinds & io::value_kinds({value.kind()})) == 0)
    io::refuse_value(value, path, form.kinds_text);
  if (!is_file && value.is(ValueKind::String) && !is_word(form, value.text()))
    io::refuse_value(value, path, form.kinds_text);
  if (row->type == io::KeyType::Choice) require_choice(value, *row);
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

bool Patch::apply(io::Config& config, std::string_view json, const Where& where) const {
  if (!key->patch(*key, config, index, json, where)) return false;
  const bool has_place = key->group == io::KeyClass::Shape || key->group == io::KeyClass::Option;
  if (has_place) config.given.move(io::id_of(*key), where);
  return true;
}

std::string_view Patch::placeholder() const {
  return key->type == io::KeyType::Text ? "\"gpipe\"" : "1";
}

std::optional<Patch> find_patch(std::string_view path) {
  if (const io::Key* key = io::find_config_key(path))
    return key->patches_whole && key->patchable ? std::optional(Patch{key, io::kWhole}) : std::nullopt;
  const auto dot = std::min(path.rfind('.'), path.size());
  const io::Key* key = io::find_config_key(path.substr(0, dot));
  const std::string_view digits = path.substr(std::min(dot + 1, path.size()));
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (key == nullptr || !key->patches_entries || error != std::errc{} || end != digits.data() + digits.size())
    return std::nullopt;
  return Patch{key, index};
}

}  // namespace pipeloom::sweep
