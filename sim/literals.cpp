#include "sim/literals.hpp"

#include <cctype>
#include <string>

namespace pipeloom {
namespace {

__extension__ using Wide = __int128;

/// Resolution in which the number in front of a unit is read.
constexpr std::int64_t kNano = 1'000'000'000;

struct Parts {
  std::string_view number;
  std::string_view unit;
};

/// "23.6 ms" as "23.6" and "ms". Nothing where either is missing.
std::optional<Parts> split(std::string_view text) {
  std::size_t end = 0;
  // An exponent's "e" belongs to the number only if digits follow, which no unit has.
  while (end < text.size() && (std::isdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == '.'))
    ++end;
  std::string_view unit = text.substr(end);
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  if (end == 0 || unit.empty()) return std::nullopt;
  return Parts{text.substr(0, end), unit};
}

std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
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

}  // namespace

std::optional<Ticks> parse_time_literal(std::string_view text) {
  const auto parts = split(text);
  if (!parts) return std::nullopt;
  const auto unit = time_unit_named(parts->unit);
  if (!unit || unit == TimeUnit::Unit) return std::nullopt;
  const auto ticks = parse_ticks(parts->number, *unit);
  if (!ticks) return std::nullopt;
  return ticks->value;
}

std::optional<Bytes> parse_bytes_literal(std::string_view text) {
  const auto parts = split(text);
  if (!parts) return std::nullopt;
  const std::string unit = lower(parts->unit);
  if (unit.back() != 'b') return std::nullopt;
  return scaled(parts->number, factor_of(std::string_view(unit).substr(0, unit.size() - 1), true));
}

std::optional<std::int64_t> parse_rate_literal(std::string_view text) {
  const auto parts = split(text);
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

}  // namespace pipeloom
