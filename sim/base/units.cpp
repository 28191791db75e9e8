#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>

#include <pipeloom/units.hpp>
#include "sim/base/number_text.hpp"

namespace pipeloom {
namespace {

struct UnitRow {
  TimeUnit unit;
  std::string_view name;
  Ticks ticks;
};

constexpr std::array<UnitRow, 5> kUnits = {{
    {TimeUnit::Unit, "unit", 1'000'000'000},
    {TimeUnit::Second, "s", 1'000'000'000'000},
    {TimeUnit::Millisecond, "ms", 1'000'000'000},
    {TimeUnit::Microsecond, "us", 1'000'000},
    {TimeUnit::Nanosecond, "ns", 1'000},
}};

constexpr const UnitRow& row_of(TimeUnit unit) {
  return kUnits[static_cast<std::size_t>(unit)];
}

long decimal_digits_of(std::int64_t scale) {
  long digits = 0;
  for (; scale > 1; scale /= 10) ++digits;
  return digits;
}

/// Writes the digits of integer ++ fraction shifted to the resolution: digit i counts if i < kept, the first
/// dropped one decides the rounding.
std::optional<FixedPoint> assemble(const NumberText& number, long kept) {
  FixedPoint result;
  const auto total = static_cast<long>(number.integer.size() + number.fraction.size());
  const auto digit = [&number](long i) {
    const auto n = static_cast<long>(number.integer.size());
    return static_cast<std::int64_t>((i < n ? number.integer[static_cast<std::size_t>(i)]
                                            : number.fraction[static_cast<std::size_t>(i - n)]) -
                                     '0');
  };
  for (long i = 0; i < kept; ++i) {
    if (result.value == 0 && i >= total) break;  // only zeros follow
    if (result.value > kMaxTicks / 10) return std::nullopt;
    result.value = result.value * 10 + (i < total ? digit(i) : 0);
  }
  for (long i = kept < 0 ? 0 : kept; i < total; ++i) result.rounded |= digit(i) != 0;
  if (kept >= 0 && kept < total && digit(kept) >= 5) ++result.value;
  if (result.value >= kMaxTicks) return std::nullopt;
  if (number.negative) result.value = -result.value;
  return result;
}

}  // namespace

Ticks ticks_per(TimeUnit unit) {
  return row_of(unit).ticks;
}

std::string_view name_of(TimeUnit unit) {
  return row_of(unit).name;
}

std::optional<TimeUnit> time_unit_named(std::string_view name) {
  for (const auto& row : kUnits)
    if (row.name == name) return row.unit;
  return std::nullopt;
}

std::optional<FixedPoint> parse_fixed(std::string_view text, std::int64_t scale) {
  const auto number = split_number(text);
  if (!number) return std::nullopt;
  const long kept = static_cast<long>(number->integer.size()) + number->exponent + decimal_digits_of(scale);
  return assemble(*number, kept);
}

std::optional<FixedPoint> parse_ticks(std::string_view text, TimeUnit unit) {
  return parse_fixed(text, ticks_per(unit));
}

char* write_ticks(char* out, Ticks ticks, TimeUnit unit) {
  if (ticks < 0) {
    *out++ = '-';
    ticks = -ticks;
  }
  const Ticks scale = ticks_per(unit);
  out = std::to_chars(out, out + kMaxTicksText, ticks / scale).ptr;
  *out++ = '.';
  Ticks fraction = ticks % scale;
  if (fraction == 0) {
    *out++ = '0';
    return out;
  }
  for (Ticks digit = scale / 10; fraction != 0; digit /= 10) {
    *out++ = static_cast<char>('0' + fraction / digit);
    fraction %= digit;
  }
  return out;
}

std::string format_ticks(Ticks ticks, TimeUnit unit) {
  std::array<char, kMaxTicksText> buffer;
  return {buffer.data(), write_ticks(buffer.data(), ticks, unit)};
}

double to_double(Ticks ticks, TimeUnit unit) {
  return static_cast<double>(ticks) / static_cast<double>(ticks_per(unit));
}

std::int64_t multiply_divide(std::int64_t a, std::int64_t b, std::int64_t c) {
  const auto rounded = [c](auto product) { return (product + (product < 0 ? -(c / 2) : c / 2)) / c; };
  // Most products are short, and a division of 128 bits costs ten of 64.
  std::int64_t product = 0;
  constexpr std::int64_t kShort = std::numeric_limits<std::int64_t>::max() / 2;
  if (c <= kShort && !__builtin_mul_overflow(a, b, &product) && product <= kShort && product >= -kShort)
    return rounded(product);
  __extension__ using Wide = __int128;
  return static_cast<std::int64_t>(rounded(static_cast<Wide>(a) * b));
}

}  // namespace pipeloom
