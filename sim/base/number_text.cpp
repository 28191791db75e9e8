#include "sim/base/number_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string>

#include "sim/base/text_tools.hpp"

namespace pipeloom {

namespace {

constexpr long kExponentLimit = 9999;

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view take_digits(std::string_view& text) {
  std::size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  const auto digits = text.substr(0, n);
  text.remove_prefix(n);
  return digits;
}

/// "e-3" at the front of `text`; nothing if there are no digits.
std::optional<long> take_exponent(std::string_view& text) {
  text.remove_prefix(1);
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  const auto digits = take_digits(text);
  if (digits.empty()) return std::nullopt;
  long value = 0;
  for (const char c : digits) value = std::min(value * 10 + (c - '0'), kExponentLimit);
  return negative ? -value : value;
}

}  // namespace

std::optional<NumberText> split_number(std::string_view text) {
  NumberText number;
  if (!text.empty() && text[0] == '-') {
    number.negative = true;
    text.remove_prefix(1);
  }
  number.integer = take_digits(text);
  if (number.integer.empty()) return std::nullopt;
  if (number.integer.size() > 1 && number.integer[0] == '0') return std::nullopt;
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    number.fraction = take_digits(text);
    if (number.fraction.empty()) return std::nullopt;
  }
  if (!text.empty() && (text[0] == 'e' || text[0] == 'E')) {
    const auto exponent = take_exponent(text);
    if (!exponent) return std::nullopt;
    number.exponent = *exponent;
  }
  if (!text.empty()) return std::nullopt;
  return number;
}

namespace {

__extension__ using Wide = __int128;

/// Resolution in which the number in front of a unit is read.
constexpr std::int64_t kNano = 1'000'000'000;

struct Parts {
  std::string_view number;
  std::string_view unit;
};

/// "23.6 ms" as "23.6" and "ms". Returns nullopt if either is missing.
std::optional<Parts> parts_of(std::string_view text) {
  std::size_t end = 0;
  // An exponent's "e" belongs to the number only if digits follow, which no unit has.
  while (end < text.size() && (std::isdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == '.'))
    ++end;
  std::string_view unit = text.substr(end);
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  if (end == 0 || unit.empty()) return std::nullopt;
  return Parts{text.substr(0, end), unit};
}

/// 1000^n or 1024^n of "k", "Mi", ...; 1 for "". 0 for anything else. `prefix` is in small letters.
std::int64_t factor_of(std::string_view prefix, bool binary_too) {
  constexpr std::string_view kLetters = "kmgtp";
  if (prefix.empty()) return 1;
  const auto power = kLetters.find(prefix.front());
  const bool binary = prefix.substr(1) == "i";
  if (power == std::string_view::npos || (prefix.size() > 1 && !(binary && binary_too))) return 0;
  std::int64_t factor = 1;
  for (std::size_t i = 0; i <= power; ++i) factor *= binary ? 1024 : 1000;
  return factor;
}

/// number * factor, rounded to nearest.
std::optional<std::int64_t> scaled(std::string_view number, std::int64_t factor) {
  const auto nano = parse_fixed(number, kNano);
  if (!nano || factor == 0) return std::nullopt;
  const Wide product = (Wide{nano->value} * factor + kNano / 2) / kNano;
  if (product >= kMaxTicks) return std::nullopt;
  return static_cast<std::int64_t>(product);
}

using Units = std::array<const char*, 7>;
constexpr Units kBinaryUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

/// At most one decimal.
std::string in_units(double value, double step, const Units& units) {
  std::size_t unit = 0;
  // 999.95 would be shown as 1000.0.
  for (; std::abs(value) >= step - 0.05 && unit + 1 < units.size(); ++unit) value /= step;
  return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : 1, units[unit]);
}

std::string in_decimal_units(double bytes) {
  static constexpr Units kUnits = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  return in_units(bytes, 1000, kUnits);
}

}  // namespace

std::optional<FixedPoint> parse_time_literal(std::string_view text) {
  const auto parts = parts_of(text);
  if (!parts) return std::nullopt;
  const auto unit = time_unit_named(parts->unit);
  if (!unit || unit == TimeUnit::Unit) return std::nullopt;
  return parse_ticks(parts->number, *unit);
}

std::optional<Bytes> parse_bytes_literal(std::string_view text) {
  const auto parts = parts_of(text);
  if (!parts) return std::nullopt;
  const std::string unit = lower(parts->unit);
  if (unit.back() != 'b') return std::nullopt;
  return scaled(parts->number, factor_of(std::string_view(unit).substr(0, unit.size() - 1), true));
}

std::optional<std::int64_t> parse_rate_literal(std::string_view text) {
  const auto parts = parts_of(text);
  if (!parts) return std::nullopt;
  const std::string unit = lower(parts->unit);
  for (const auto& [ending, bits] : {std::pair<std::string_view, std::int64_t>{"bit/s", 1}, {"b/s", 8}}) {
    if (!unit.ends_with(ending)) continue;
    // "Gb/s" is written for bits as often as for bytes: only a capital B says which.
    if (bits == 8 && parts->unit[parts->unit.size() - 3] != 'B') return std::nullopt;
    return scaled(parts->number,
                  factor_of(std::string_view(unit).substr(0, unit.size() - ending.size()), false) * bits);
  }
  return std::nullopt;
}

std::string bytes_text(Bytes bytes) {
  return estimated_bytes_text(static_cast<double>(bytes));
}

std::string short_bytes_text(Bytes bytes) {
  return in_decimal_units(static_cast<double>(bytes));
}

std::string binary_bytes_text(double bytes) {
  std::size_t unit = 0;
  for (; std::abs(bytes) >= 1024 && unit + 1 < kBinaryUnits.size(); ++unit) bytes /= 1024;
  return fmt::format("{:.6g} {}", bytes, kBinaryUnits[unit]);
}

std::string estimated_bytes_text(double bytes) {
  const std::string decimal = in_decimal_units(bytes);
  return std::abs(bytes) < 1024 ? decimal
                                : fmt::format("{} ({})", decimal, in_units(bytes, 1024, kBinaryUnits));
}

std::string percent_text(double ratio) {
  const double size = std::abs(ratio);
  // From the value that one decimal shows as 0.1 on.
  return fmt::format("{:.{}f} %", 100 * ratio, size == 0 || size >= 0.00095 ? 1 : 2);
}

std::string change_text(double ratio) {
  return (ratio > 0 ? "+" : "") + percent_text(ratio);
}

}  // namespace pipeloom
