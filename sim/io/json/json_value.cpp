// Document::set: edits from the command line on top of a file.

#include "sim/io/json/json_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "sim/base/text_tools.hpp"
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
  // An edited member has no place of its own key: its place is that of its value.
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

namespace {

std::vector<std::string_view> path_parts(std::string_view path, std::string_view source) {
  std::vector<std::string_view> parts;
  for (std::string_view rest = path;;) {
    const auto dot = rest.find('.');
    parts.push_back(rest.substr(0, dot));
    if (parts.back().empty() || parts.size() > kMaxDocumentDepth)
      throw InputError(
          Where{std::string(source)},
          fmt::format("'{}' is no path; write keys joined by dots, such as costs.forward or costs.backward.3",
                      shortened(path, 80)));
    if (dot == std::string_view::npos) return parts;
    rest.remove_prefix(dot + 1);
  }
}

std::size_t index_in(const Value& array, std::string_view part, std::string_view source) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
  if (error != std::errc{} || end != part.data() + part.size() || index >= array.items().size())
    throw InputError(
        Where{std::string(source)},
        fmt::format("'{}' is no place in an array of {}; give an index from 0 to {}", shortened(part, 40),
                    array.items().size(), static_cast<long>(array.items().size()) - 1));
  return index;
}

/// `text` as JSON, or as a string if it is none. Every place inside becomes `source`.
Value value_of(std::string_view text, const std::string& source) {
  try {
    return Document::parse(text, source).root();
  } catch (const InputError&) {
    // Not JSON: a bare word such as 1f1b.
    std::string quoted;
    append_json_string(quoted, text);
    return Document::parse(quoted, source).root();
  }
}

}  // namespace

Document::Document() {
  root_.kind_ = ValueKind::Object;
}

void Document::set(std::string_view path, std::string_view text, std::string_view source) {
  Value value = value_of(text, std::string(source));
  // The option has no lines of its own.
  value.line_ = 0;
  value.column_ = 0;
  set(path, value, source);
}

void Document::set(std::string_view path, const Value& value, std::string_view source) {
  Value* at = &root_;
  for (const std::string_view part : path_parts(path, source)) {
    if (at->kind_ == ValueKind::Array) {
      at = &at->items_[index_in(*at, part, source)];
      continue;
    }
    if (at->kind_ == ValueKind::Null) {
      at->kind_ = ValueKind::Object;
      at->source_ = std::make_shared<const std::string>(source);
    }
    if (at->kind_ != ValueKind::Object)
      throw InputError(Where{std::string(source)},
                       fmt::format("cannot set '{}' inside {}; only objects and arrays have parts",
                                   shortened(part, 40), at->described()));
    std::size_t i = 0;
    while (i < at->keys_.size() && at->keys_[i].name != part) ++i;
    if (i == at->keys_.size()) {
      at->keys_.push_back({std::string(part), 0, 0});
      at->items_.emplace_back();
    }
    at = &at->items_[i];
  }
  *at = value;
}

void Document::set_option(std::string_view assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos)
    throw InputError(Where{"--set"},
                     fmt::format("'{}' has no '='; write PATH=VALUE, such as costs.forward=1.5",
                                 shortened(assignment, 80)));
  const auto path = assignment.substr(0, equals);
  set(path, assignment.substr(equals + 1), fmt::format("--set {}", shortened(path, 80)));
}

}  // namespace pipeloom::io
