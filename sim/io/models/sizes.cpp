#include "sim/io/models/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/models/fields.hpp"

namespace pipeloom::io::models {
namespace {

constexpr double kMostExpressed = 9007199254740992;  // 2^53
constexpr std::string_view kWholeNumber = "a whole number from 0 to 9007199254740992";

/// Keys of many classes that change neither sizes nor work: tokens' numbers, positions, scales, training, how files are kept.
constexpr std::string_view kPassed[] = {
#include "sim/io/models/passed_keys.def"
};

bool is_passed(std::string_view key) {
  return key.starts_with('_') || key.ends_with("_token_id") || key.ends_with("_token_index") ||
         std::find(std::begin(kPassed), std::end(kPassed), key) != std::end(kPassed);
}

/// An array of one number, however often.
bool is_uniform(const Value& list) {
  return !list.items().empty() &&
         std::all_of(list.items().begin(), list.items().end(), [&](const Value& item) {
           return item.is(ValueKind::Number) && item.text() == list.items().front().text();
         });
}

/// Of an array of two sizes, or one size for both.
bool is_side(std::string_view key) {
  return key == "0" || key == "1";
}

/// What all members of an object say under a key; null where they lack it.
const Value* common(const Value& object, std::string_view key, const std::string& path) {
  const Value* out = nullptr;
  for (const Value& member : object.items()) {
    const Value* one = member.is(ValueKind::Object) ? member.find(key) : nullptr;
    if (&member == &object.items().front()) out = one;
    const bool is_same = (one == nullptr) == (out == nullptr) &&
                         (one == nullptr || one->canonical_text() == out->canonical_text());
    if (!is_same) refuse(member, path, "the same for all layers that it names");
  }
  return out;
}

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

}  // namespace

/// Reads one expression from the left.
class Expression {
 public:
  using Number = std::optional<double>;

  Expression(Sizes& sizes, std::string_view text) : sizes_(sizes), text_(text) {}

  /// REQUIRES: the text is an expression; those of types.def are tested to be.
  Number value() { return either(); }

 private:
  bool take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  std::string_view word() {
    const auto end = std::find_if_not(text_.begin(), text_.end(), is_name);
    const std::string_view out = text_.substr(0, static_cast<std::size_t>(end - text_.begin()));
    text_.remove_prefix(out.size());
    return out;
  }

  Number either() {
    Number out = condition();
    while (take('|')) {
      const Number next = condition();
      if (!out) out = next;
    }
    return out;
  }

  Number condition() {
    const Number out = sum();
    if (!take('?')) return out;
    const Number then = sum();
    return out.value_or(0) != 0 ? then : std::nullopt;
  }

  Number sum() {
    Number out = product();
    while (!text_.empty() && (text_.front() == '+' || text_.front() == '-')) {
      const double sign = take('-') ? -1 : 1;
      if (sign > 0) take('+');
      const Number next = product();
      out = out && next ? Number(*out + sign * *next) : std::nullopt;
    }
    return out;
  }

  Number product() {
    Number out = factor();
    while (!text_.empty() && (text_.front() == '*' || text_.front() == '/')) {
      const bool divides = take('/');
      if (!divides) take('*');
      const Number next = factor();
      if (!out || !next || (divides && *next == 0))
        out = std::nullopt;
      else
        out = divides ? std::floor(*out / *next) : *out * *next;
    }
    return out;
  }

  Number factor() {
    if (take('!')) return factor().value_or(0) == 0 ? 1 : 0;
    if (take('#')) return length(sizes_.found(word(), true));
    if (take('?')) return number(sizes_.found(word(), false));
    if (take('(')) {
      const Number out = either();
      take(')');
      return out;
    }
    const std::string_view name = word();
    if (!name.empty() && name.front() >= '0' && name.front() <= '9') return std::stod(std::string(name));
    if (const auto bound = sizes_.bound(name)) return static_cast<double>(*bound);
    const Value* found = sizes_.found(name, true);
    if (!take('=')) return number(found);
    const std::string_view wanted = word();
    return found != nullptr && found->text() == wanted ? 1 : 0;
  }

  static Number length(const Value* value) {
    if (value != nullptr && value->is(ValueKind::String)) return static_cast<double>(value->text().size());
    if (value == nullptr || !value->is(ValueKind::Array)) return std::nullopt;
    return static_cast<double>(value->items().size());
  }

  [[nodiscard]] Number number(const Value* value) const {
    if (value == nullptr) return std::nullopt;
    if (value->is(ValueKind::Bool)) return value->text() == "true" ? 1 : 0;
    if (value->is(ValueKind::String) && value->text() == "auto") return std::nullopt;
    if (value->is(ValueKind::Array) && is_uniform(*value)) return value->items().front().number();
    if (!value->is(ValueKind::Number)) refuse(*value, sizes_.last_path_, kWholeNumber);
    return value->number();
  }

  Sizes& sizes_;
  std::string_view text_;
};

Sizes::Sizes(const Value& object, std::string path, const TypeRow& type)
    : object_(object), path_(std::move(path)), type_(type) {
  if (!object.is(ValueKind::Object)) refuse(object, path_.empty() ? "a model" : path_, "an object");
}

std::string Sizes::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

const Value* Sizes::stated(std::string_view key) const {
  const Value* found = object_.find(key);
  for (const std::string& other : type_.other_names(key)) {
    const Value* same = object_.find(other);
    if (found != nullptr && same != nullptr && found->canonical_text() != same->canonical_text())
      refuse(*same, path_of(other), fmt::format("what {} says, or left out", path_of(key)));
    if (found == nullptr) found = same;
  }
  return found;
}

bool Sizes::is_stated(std::string_view key) const {
  const Value* found = stated(key);
  return found != nullptr && !found->is(ValueKind::Null);
}

const Value* Sizes::outer(std::string_view key) {
  asked_.emplace(key);
  for (const std::string& other : type_.other_names(key)) asked_.insert(other);
  const Value* found = stated(key);
  if (found == nullptr) found = type_.default_of(key);
  return found == nullptr || found->is(ValueKind::Null) ? nullptr : found;
}

const Value* Sizes::found(std::string_view path, bool with_default) {
  const std::size_t dot = path.find('.');
  const std::string_view key = path.substr(0, dot);
  const Value* value = outer(key);
  if (!with_default && !is_stated(key)) value = nullptr;
  if (value != nullptr && dot != std::string_view::npos) {
    value = inner(*value, key, path.substr(dot + 1));
    if (value != nullptr && value->is(ValueKind::Null)) value = nullptr;
  }
  if (value != nullptr) {
    last_ = value;
    last_path_ = path_of(is_side(path.substr(dot + 1)) ? key : path);
  }
  return value;
}

const Value* Sizes::inner(const Value& value, std::string_view key, std::string_view rest) const {
  if (is_side(rest)) {
    if (!value.is(ValueKind::Array)) return &value;
    if (value.items().size() != 2) refuse(value, path_of(key), "a whole number, or two of them");
    return &value.items()[rest == "0" ? 0 : 1];
  }
  if (!value.is(ValueKind::Object)) refuse(value, path_of(key), "an object");
  return rest.starts_with("each.") ? common(value, rest.substr(5), path_of(key)) : value.find(rest);
}

std::optional<std::int64_t> Sizes::bound(std::string_view name) const {
  const auto found = bound_.find(name);
  return found == bound_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> Sizes::number(std::string_view expression) {
  last_ = nullptr;
  return Expression(*this, expression).value();
}

std::optional<std::int64_t> Sizes::whole(std::string_view expression) {
  const std::optional<double> value = number(expression);
  if (!value) return std::nullopt;
  if (last_ != nullptr && last_->is(ValueKind::Number) && last_->number() == *value)
    static_cast<void>(whole_number(*last_, last_path_));
  if (!(*value >= 0 && *value <= kMostExpressed) || *value != std::floor(*value))
    refuse(last_ != nullptr ? *last_ : object_, last_path_, kWholeNumber);
  return static_cast<std::int64_t>(*value);
}

std::int64_t Sizes::size(std::string_view expression, std::int64_t most) {
  const std::optional<std::int64_t> out = whole(expression);
  const Value& at = last_ != nullptr ? *last_ : object_;
  if (!out)
    throw InputError(
        at.where(),
        fmt::format("{} does not follow from its keys; none of them may be null or 0", path_of(expression)));
  if (*out < 1 || *out > most) refuse_last(fmt::format("from 1 to {}", most));
  return *out;
}

void Sizes::refuse_last(std::string_view allowed) const {
  refuse(last_ != nullptr ? *last_ : object_, last_path_, allowed);
}

void Sizes::check_least() {
  const Value* least = type_.find({"least"});
  if (least == nullptr) return;
  for (std::size_t i = 0; i < least->keys().size(); ++i) {
    const std::string& key = least->keys()[i].name;
    const auto allowed = whole(least->items()[i].text());
    const auto value = whole(key);
    if (allowed && value && *value < *allowed)
      refuse_last(fmt::format("at least {} ({})", *allowed, least->items()[i].text()));
  }
}

bool Sizes::is_known(std::size_t at) const {
  const std::string& name = object_.keys()[at].name;
  if (asked_.contains(name) || is_passed(name)) return true;
  const Value* usual = type_.default_of(name);
  if (usual != nullptr && object_.items()[at].canonical_text() != usual->canonical_text())
    throw InputError(
        object_.items()[at].where(),
        fmt::format("{} is {}; models of type '{}' are read with {} alone, as it is not known here what "
                    "another one changes",
                    shortened(path_of(name), 80), object_.items()[at].described(),
                    shortened(type_.name(), 80), usual->described()));
  return usual != nullptr;
}

void Sizes::check_words() {
  const Value* words = type_.find({"one_of"});
  for (std::size_t i = 0; words != nullptr && i < words->keys().size(); ++i) {
    const std::string& key = words->keys()[i].name;
    const Value* value = find(key);
    if (value == nullptr) continue;
    std::vector<std::string> allowed;
    for (const Value& word : words->items()[i].items()) allowed.push_back(fmt::format("\"{}\"", word.text()));
    const std::span<const Value> entries =
        value->is(ValueKind::Array) ? std::span<const Value>(value->items()) : std::span(value, 1);
    for (const Value& entry : entries)
      if (std::find(allowed.begin(), allowed.end(), fmt::format("\"{}\"", entry.text())) == allowed.end())
        refuse(entry, path_of(key), join(allowed, " or "));
  }
}

void Sizes::check_counted_up() {
  const Value* keys = type_.find({"counted_up"});
  for (std::size_t i = 0; keys != nullptr && i < keys->items().size(); ++i) {
    const std::string& key = keys->items()[i].text();
    const Value* list = find(key);
    for (std::size_t at = 0; list != nullptr && at < list->items().size(); ++at)
      if (list->items()[at].text() != std::to_string(at))
        refuse(list->items()[at], path_of(key), fmt::format("{}, its place in the list", at));
  }
}

void Sizes::finish(std::vector<std::string>& warnings) {
  if (const Value* passed = type_.find({"passed"}))
    for (const Value& key : passed->items()) static_cast<void>(find(key.text()));
  if (const Value* equal = type_.find({"equal"}))
    for (std::size_t i = 0; i < equal->keys().size(); ++i) {
      const std::string& key = equal->keys()[i].name;
      const auto right = whole(equal->items()[i].text());
      if (right && is_stated(key) && whole(key) != right)
        refuse(*find(key), path_of(key), fmt::format("{}, as other keys say", *right));
    }
  check_words();
  check_counted_up();
  std::vector<std::string> unknown;
  for (std::size_t i = 0; i < object_.keys().size(); ++i)
    if (!is_known(i)) unknown.push_back(object_.keys()[i].name);
  if (!unknown.empty())
    warnings.push_back(
        fmt::format("{}: the class of '{}' does not know these keys, so they change nothing: {}",
                    object_.where().file, shortened(type_.name(), 80), shortened(join(unknown, ", "), 400)));
}

}  // namespace pipeloom::io::models
