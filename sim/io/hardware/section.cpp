#include "sim/io/hardware/section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <pipeloom/error.hpp>
#include <pipeloom/units.hpp>
#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/config/value_reading.hpp"

namespace pipeloom::io {
namespace {

constexpr double kLargestSize = static_cast<double>(std::int64_t{1} << 40);

}  // namespace

double number_of(const Value& value, std::string_view key, NumberRange range) {
  const bool fits = value.is(ValueKind::Number) && std::isfinite(value.number()) &&
                    value.number() > range.over && value.number() <= range.most;
  if (!fits)
    refuse_value(value, key, fmt::format("a number above {} and at most {}", range.over, range.most));
  return value.number();
}

std::int64_t size_of(const Value& value, std::string_view key) {
  const bool fits = value.is(ValueKind::Number) && value.number() >= 1 && value.number() <= kLargestSize &&
                    value.number() == std::floor(value.number());
  if (!fits) refuse_value(value, key, fmt::format("a whole number from 1 to {:.0f}", kLargestSize));
  return static_cast<std::int64_t>(value.number());
}

const std::string& string_of(const Value& value, std::string_view key) {
  if (!value.is(ValueKind::String)) refuse_value(value, key, "a string");
  return value.text();
}

const std::vector<Value>& array_of(const Value& value, std::string_view key, std::string_view allowed) {
  if (!value.is(ValueKind::Array)) refuse_value(value, key, allowed);
  return value.items();
}

std::size_t choice_in(const Value& value, std::string_view what, const std::vector<std::string>& names) {
  if (value.is(ValueKind::String))
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == value.text()) return i;
  throw InputError::unknown_name(value.where(), what, shortened(value.text(), 64), names);
}

Section::Section(const Value& value, std::string path, std::initializer_list<std::string_view> keys)
    : value_(value), path_(std::move(path)) {
  const std::string_view shown = path_.empty() ? std::string_view("hardware") : std::string_view(path_);
  if (!value.is(ValueKind::Object)) refuse_value(value, shown, "an object");
  std::vector<std::string> valid(keys.begin(), keys.end());
  valid.insert(valid.end(), {"remark", "source"});
  for (std::size_t i = 0; i < value.keys().size(); ++i) {
    const std::string& name = value.keys()[i].name;
    if (std::find(valid.begin(), valid.end(), name) == valid.end())
      throw InputError::unknown_name(value.where_key(i), fmt::format("key of {}", shown), shortened(name, 64),
                                     valid);
  }
}

std::string Section::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void Section::number(std::string_view key, double& out, NumberRange range) const {
  if (const Value* value = find(key)) out = number_of(*value, path_of(key), range);
}

void Section::seconds(std::string_view key, double& out) const {
  const Value* value = find(key);
  if (value == nullptr) return;
  const auto ticks = value->is(ValueKind::String) ? parse_time_literal(value->text()) : std::nullopt;
  if (!ticks) refuse_value(*value, path_of(key), "a time with its unit, such as \"9.4us\" (s, ms, us or ns)");
  out = to_double(ticks->value, TimeUnit::Second);
}

void Section::bytes(std::string_view key, double& out) const {
  const Value* value = find(key);
  if (value == nullptr) return;
  const auto size = value->is(ValueKind::String) ? parse_bytes_literal(value->text()) : std::nullopt;
  if (!size || *size == 0)
    refuse_value(*value, path_of(key), "a size above 0 with its unit, such as \"80GB\" or \"80GiB\"");
  out = static_cast<double>(*size);
}

void Section::bytes_per_second(std::string_view key, double& out) const {
  const Value* value = find(key);
  if (value == nullptr) return;
  const auto bits = value->is(ValueKind::String) ? parse_rate_literal(value->text()) : std::nullopt;
  if (!bits || *bits == 0)
    refuse_value(*value, path_of(key), "a rate above 0 with its unit, such as \"3.35TB/s\" or \"400Gbit/s\"");
  out = static_cast<double>(*bits) / 8;
}

void Section::text(std::string_view key, std::string& out) const {
  if (const Value* value = find(key)) out = printable(string_of(*value, path_of(key)));
}

}  // namespace pipeloom::io
