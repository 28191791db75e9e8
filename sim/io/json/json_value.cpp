#include "sim/io/json/json_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "sim/base/printable.hpp"
#include "sim/io/json/json_text.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::io {
namespace {

constexpr std::size_t kShownText = 40;

void append_canonical(std::string& out, const Value& value);

void append_sorted_members(std::string& out, const Value& object) {
  std::vector<std::size_t> order(object.keys().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&object](std::size_t a, std::size_t b) {
    return object.keys()[a].name < object.keys()[b].name;
  });
  out += '{';
  for (const std::size_t i : order) {
    if (out.back() != '{') out += ',';
    append_json_string(out, object.keys()[i].name);
    out += ':';
    append_canonical(out, object.items()[i]);
  }
  out += '}';
}

void append_canonical(std::string& out, const Value& value) {
  switch (value.kind()) {
    case ValueKind::Null:
      out += "null";
      return;
    case ValueKind::Bool:
    case ValueKind::Number:
      out += value.text();
      return;
    case ValueKind::String:
      append_json_string(out, value.text());
      return;
    case ValueKind::Object:
      append_sorted_members(out, value);
      return;
    case ValueKind::Array:
      out += '[';
      for (const Value& item : value.items()) {
        if (out.back() != '[') out += ',';
        append_canonical(out, item);
      }
      out += ']';
      return;
  }
}

}  // namespace

std::string_view name_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::Null:
      return "null";
    case ValueKind::Bool:
      return "true or false";
    case ValueKind::Number:
      return "a number";
    case ValueKind::String:
      return "a string";
    case ValueKind::Array:
      return "an array";
    case ValueKind::Object:
      return "an object";
  }
  return "";
}

Where Value::where() const {
  return {source_ ? *source_ : std::string(), line_, column_};
}

Where Value::where_key(std::size_t i) const {
  const Key& key = keys_[i];
  // An edited member keeps no place of its own key: it stands where its value came from.
  if (key.line == 0) return items_[i].where();
  return {source_ ? *source_ : std::string(), key.line, key.column};
}

const Value* Value::find(std::string_view key) const {
  for (std::size_t i = 0; i < keys_.size(); ++i)
    if (keys_[i].name == key) return &items_[i];
  return nullptr;
}

double Value::number() const {
  // A number too small for a double leaves the 0.
  double out = 0;
  std::from_chars(text_.data(), text_.data() + text_.size(), out);
  return out;
}

std::string Value::described() const {
  switch (kind_) {
    case ValueKind::Bool:
      return text_;
    case ValueKind::Number:
      return shortened(text_, kShownText);
    case ValueKind::String:
      return fmt::format("the string '{}'", shortened(text_, kShownText));
    case ValueKind::Array:
      return fmt::format("an array of {}", items_.size());
    default:
      return std::string(name_of(kind_));
  }
}

std::string Value::canonical_text() const {
  std::string out;
  append_canonical(out, *this);
  return out;
}

std::optional<Value> read_json(std::string_view text) {
  try {
    return Document::parse(text, "").root();
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace pipeloom::io
