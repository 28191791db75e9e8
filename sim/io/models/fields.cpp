#include "sim/io/models/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include <pipeloom/error.hpp>
#include <pipeloom/units.hpp>
#include "sim/base/text_tools.hpp"

namespace pipeloom::io::models {
namespace {

constexpr std::int64_t kMostWhole = std::int64_t{1} << 53;

}  // namespace

void refuse(const Value& value, std::string_view path, std::string_view allowed) {
  throw InputError(value.where(),
                   fmt::format("{} is {}; it must be {}", shortened(path, 80), value.described(), allowed));
}

std::int64_t whole_number(const Value& value, std::string_view path) {
  const auto number = value.is(ValueKind::Number) ? parse_fixed(value.text(), 1) : std::nullopt;
  if (!number || number->rounded || number->value < 0 || number->value > kMostWhole)
    refuse(value, path, fmt::format("a whole number from 0 to {}", kMostWhole));
  return number->value;
}

Fields::Fields(const Value& object, std::string path) : object_(object), path_(std::move(path)) {
  if (!object.is(ValueKind::Object)) refuse(object, path_.empty() ? "a model" : path_, "an object");
}

std::string Fields::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

const Value* Fields::find(std::string_view key) {
  asked_.emplace_back(key);
  const Value* value = object_.find(key);
  return value == nullptr || value->is(ValueKind::Null) ? nullptr : value;
}

const Assumed* Fields::assumed(std::string_view key) const {
  if (object_.find(key) != nullptr) return nullptr;
  const auto found =
      std::find_if(assumed_.begin(), assumed_.end(), [&](const Assumed& one) { return one.key == key; });
  return found == assumed_.end() ? nullptr : &*found;
}

void Fields::read(std::string_view key, std::int64_t& out) {
  if (const Assumed* size = assumed(key)) out = size->value;
  if (const Value* value = find(key)) out = whole_number(*value, path_of(key));
}

void Fields::read(std::string_view key, int& out) {
  const Value* value = find(key);
  if (value == nullptr) return;
  const std::int64_t number = whole_number(*value, path_of(key));
  if (number > std::numeric_limits<int>::max())
    refuse(*value, path_of(key), "a whole number below 2147483648");
  out = static_cast<int>(number);
}

void Fields::read(std::string_view key, bool& out) {
  const Value* value = find(key);
  if (value == nullptr) return;
  if (!value->is(ValueKind::Bool)) refuse(*value, path_of(key), "true or false");
  out = value->text() == "true";
}

void Fields::read(std::string_view key, std::string& out) {
  const Value* value = find(key);
  if (value == nullptr) return;
  if (!value->is(ValueKind::String)) refuse(*value, path_of(key), "a string");
  out = printable(value->text());
}

void Fields::need(std::string_view key, std::int64_t& out) {
  const Value* value = find(key);
  if (value == nullptr && assumed(key) == nullptr)
    throw InputError(object_.where(),
                     fmt::format("{} is missing; give it as a whole number", shortened(path_of(key), 80)));
  read(key, out);
}

void Fields::finish() const {
  for (std::size_t i = 0; i < object_.keys().size(); ++i)
    if (std::find(asked_.begin(), asked_.end(), object_.keys()[i].name) == asked_.end())
      throw InputError::unknown_name(object_.where_key(i),
                                     path_.empty() ? "key of a model" : "key of " + shortened(path_, 80),
                                     shortened(object_.keys()[i].name, 64), asked_);
}

}  // namespace pipeloom::io::models
