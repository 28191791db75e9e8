#pragma once

// Time as integers, and the only functions that turn it into text and back.
//
// One tick is one picosecond for the units s, ms, us and ns, and 1e-9 for the abstract `unit`.
// Decimal text with no more digits than that is exact; more digits are rounded to nearest.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pipeloom {

/// A point in time or a duration. Never negative in a finished timeline.
using Ticks = std::int64_t;

/// Sizes of tensors and memories.
using Bytes = std::int64_t;

/// Scales are integers in units of 1e-9, so that products stay exact integers.
using Scale = std::int64_t;
inline constexpr Scale kUnitScale = 1'000'000'000;

/// Largest duration a user may give, and largest makespan: 2^62 leaves room to add two of them.
inline constexpr Ticks kMaxTicks = Ticks{1} << 62;

enum class TimeUnit : std::uint8_t { Unit, Second, Millisecond, Microsecond, Nanosecond };

/// Ticks in one of `unit`: 1e9 for Unit, 1e12, 1e9, 1e6, 1e3 for s, ms, us, ns.
[[nodiscard]] Ticks ticks_per(TimeUnit unit);

/// "unit", "s", "ms", "us", "ns": the spelling of configurations, reports and axes.
[[nodiscard]] std::string_view name_of(TimeUnit unit);
[[nodiscard]] std::optional<TimeUnit> time_unit_named(std::string_view name);

/// A decimal number scaled to an integer.
struct FixedPoint {
  std::int64_t value = 0;
  /// The text had more digits than the resolution holds, so `value` is the nearest one.
  bool rounded = false;
};

/// Reads decimal text such as "1.25", "3" or "2.5e-3" as `text * scale`, rounded to nearest.
/// REQUIRES: scale is a power of ten >= 1. Returns nullopt for text that is no JSON number, for NaN
/// and infinities, and when the result's magnitude reaches 2^62.
[[nodiscard]] std::optional<FixedPoint> parse_fixed(std::string_view text, std::int64_t scale);

/// `parse_fixed` at a unit's resolution.
[[nodiscard]] std::optional<FixedPoint> parse_ticks(std::string_view text, TimeUnit unit);

/// Exact decimal text of `ticks` in `unit`, always with a decimal point: "33.0", "0.125".
[[nodiscard]] std::string format_ticks(Ticks ticks, TimeUnit unit);

/// Writes the text of format_ticks at `out` and returns one past the last character.
/// REQUIRES: room for kMaxTicksText characters. Does not allocate: timelines of millions of ops
/// stream through it.
char* write_ticks(char* out, Ticks ticks, TimeUnit unit);
inline constexpr int kMaxTicksText = 32;

/// The value as a double, for pictures and ratios only: never fed back into a simulation.
[[nodiscard]] double to_double(Ticks ticks, TimeUnit unit);

/// a * b / c rounded to nearest (halves away from zero) without overflow in between.
/// REQUIRES: c > 0 and the result fits.
[[nodiscard]] std::int64_t multiply_divide(std::int64_t a, std::int64_t b, std::int64_t c);

}  // namespace pipeloom
