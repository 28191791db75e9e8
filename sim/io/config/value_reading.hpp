#pragma once

// Typed values out of the JSON tree, with the errors that keys word.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cost/cost_spec.hpp"
#include "sim/io/config/key.hpp"
#include "sim/io/json/json_value.hpp"

namespace pipeloom::io {

/// Arguments of reading a value, other than the value.
struct ReadContext {
  const Key& key;
  TimeUnit unit = TimeUnit::Unit;
  std::vector<std::string>& warnings;
};

/// "KEY is 12; it must be ALLOWED", at the value's place.
[[noreturn]] void refuse_value(const Value& value, std::string_view key, std::string_view allowed);

/// The readers below throw InputError. `key` is a full path, or one that goes on below the context's key.
[[nodiscard]] Ticks time_of(const Value& value, std::string_view key, const ReadContext& context);
[[nodiscard]] Bytes bytes_of(const Value& value, std::string_view key, const ReadContext& context);
[[nodiscard]] Scale scale_of(const Value& value, std::string_view key, const ReadContext& context);
/// A whole number within the limits of the context's key.
[[nodiscard]] std::int64_t count_of(const Value& value, const ReadContext& context);
/// A bandwidth above 0 in bits per second: a number of 1e9 of them, or a rate with its unit.
[[nodiscard]] std::int64_t rate_of(const Value& value, std::string_view key, const ReadContext& context);
/// A number from 0 to 1 in units of 1e-9.
[[nodiscard]] std::int64_t share_of(const Value& value, const ReadContext& context);
/// A number above 0 in units of 1e-9, or nothing for null; keys in 1e9 bit/s take rates with a unit too.
[[nodiscard]] std::optional<std::int64_t> positive_decimal_of(const Value& value, const ReadContext& context);
[[nodiscard]] const std::string& text_of(const Value& value, const ReadContext& context);
/// One of the choices of the context's key: its place among them.
[[nodiscard]] std::size_t choice_of(const Value& value, const ReadContext& context);
/// A number, an array, or a table of times or bytes.
[[nodiscard]] cost::StageNumbers stage_numbers_of(const Value& value, const ReadContext& context, bool times);
/// An array of factors, or a table.
[[nodiscard]] cost::ScaleSpec scales_of(const Value& value, const ReadContext& context);

}  // namespace pipeloom::io
