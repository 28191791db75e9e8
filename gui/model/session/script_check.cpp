// What a script expects of the state dump.

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/session/script.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/json/json_value.hpp"

namespace pipeloom::gui {
namespace {

using io::Value;
using io::ValueKind;

/// JSON where it reads as such, else the text as it stands: `expect /theme == dark`.
Value value_of(const std::string& text) {
  io::Document document;
  document.set("value", text, "expect");
  return document.root().items().front();
}

bool both(ValueKind kind, const Value& a, const Value& b) {
  return a.is(kind) && b.is(kind);
}

bool same(const Value& a, const Value& b) {
  if (a.kind() != b.kind() || a.items().size() != b.items().size()) return false;
  if (a.is(ValueKind::Number)) return a.text() == b.text() || a.number() == b.number();
  if (a.text() != b.text()) return false;
  for (std::size_t i = 0; i < a.items().size(); ++i) {
    const Value* other = a.is(ValueKind::Object) ? b.find(a.keys()[i].name) : &b.items()[i];
    if (other == nullptr || !same(a.items()[i], *other)) return false;
  }
  return true;
}

bool contains(const Value& found, const Value& wanted) {
  const bool is_text = wanted.is(ValueKind::String);
  if (found.is(ValueKind::String))
    return found.text().find(is_text ? wanted.text() : wanted.canonical_text()) != std::string::npos;
  if (found.is(ValueKind::Object)) return is_text && found.find(wanted.text()) != nullptr;
  const auto& entries = found.items();
  return std::any_of(entries.begin(), entries.end(), [&](const Value& entry) {
    return same(entry, wanted) || (both(ValueKind::String, entry, wanted) && contains(entry, wanted));
  });
}

/// Negative, 0 or positive; nothing for pairs that have no order, which all but numbers and texts are.
std::optional<int> order_of(const Value& a, const Value& b) {
  if (both(ValueKind::String, a, b)) return a.text().compare(b.text());
  if (!both(ValueKind::Number, a, b)) return std::nullopt;
  return a.number() < b.number() ? -1 : a.number() > b.number() ? 1 : 0;
}

bool holds(const Value& found, Comparison comparison, const Value& wanted) {
  const std::optional<int> order = order_of(found, wanted);
  switch (comparison) {
    case Comparison::Equal:
      return same(found, wanted);
    case Comparison::Unequal:
      return !same(found, wanted);
    case Comparison::Less:
      return order && *order < 0;
    case Comparison::LessOrEqual:
      return order && *order <= 0;
    case Comparison::Greater:
      return order && *order > 0;
    case Comparison::GreaterOrEqual:
      return order && *order >= 0;
    case Comparison::Contains:
      return contains(found, wanted);
    case Comparison::Size:
      return (found.is(ValueKind::Array) || found.is(ValueKind::Object)) &&
             std::to_string(found.items().size()) == wanted.text();
    case Comparison::Exists:
      return true;
    case Comparison::Absent:
      return false;
  }
  return false;
}

/// Null if there is none.
const Value* entry_of(const Value& array, const std::string& index) {
  std::size_t i = 0;
  const auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), i);
  const bool is_index = error == std::errc() && std::to_string(i) == index;
  return is_index && i < array.items().size() ? &array.items()[i] : nullptr;
}

/// Null if there is none.
const Value* value_at(const Value& all, const std::vector<std::string>& keys) {
  const Value* at = &all;
  for (const std::string& key : keys) {
    at = at->is(ValueKind::Array) ? entry_of(*at, key) : at->find(key);
    if (at == nullptr) return nullptr;
  }
  return at;
}

}  // namespace

std::optional<std::vector<std::string>> pointer_keys(std::string_view pointer) {
  std::vector<std::string> keys;
  if (!pointer.empty() && pointer.front() != '/') return std::nullopt;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      keys.emplace_back();
    } else if (pointer[i] != '~') {
      keys.back() += pointer[i];
    } else {
      const char escaped = ++i < pointer.size() ? pointer[i] : ' ';
      if (escaped != '0' && escaped != '1') return std::nullopt;
      keys.back() += escaped == '0' ? '~' : '/';
    }
  }
  return keys;
}

std::string check_expectation(const ScriptCommand& expectation, const std::string& state) {
  const std::optional<Value> all = io::read_json(state);
  const std::string wanted = "wanted " + std::string(name_of(expectation.comparison)) +
                             (expectation.value.empty() ? "" : " " + expectation.value);
  const std::string name = expectation.word.empty() ? "the state" : expectation.word;
  if (!all) return "the state is nested too deep to look at; " + wanted;
  const Value* const found = value_at(*all, pointer_keys(expectation.word).value());
  if (found == nullptr) {
    if (expectation.comparison == Comparison::Absent) return "";
    return name + " is not there; " + wanted;
  }
  if (holds(*found, expectation.comparison, value_of(expectation.value))) return "";
  return name + " is " + shortened(found->canonical_text(), 80) + "; " + wanted;
}

}  // namespace pipeloom::gui
