#pragma once

// Exact decimal numbers with nine places, with which grids, ranges and expressions calculate. No doubles anywhere.

#include <optional>
#include <string>
#include <string_view>

namespace pipeloom::sweep {

/// A number in units of 1e-9.
__extension__ using Nano = __int128;

/// 1 in units of 1e-9.
inline constexpr Nano kOne = 1'000'000'000;
/// Largest magnitude of any number: 9.2e18, so that every count and every number of bytes has room.
inline constexpr Nano kMaxNano = Nano{9'223'372'036'854'775'807} * kOne;

/// Most characters of a number's plain text: far more than any clock or memory has digits.
inline constexpr std::size_t kMaxDecimalText = 48;

/// A JSON number as plain decimal text, the same for every spelling of it: no exponent, no zero that says nothing ("1.50", "15e-1" and "1.5"
/// give "1.5"; "-0.0" gives "0"). Nullopt for text that is no JSON number, or whose plain text is longer than kMaxDecimalText.
[[nodiscard]] std::optional<std::string> plain_decimal(std::string_view text);

/// Reads a JSON number exactly. Nullopt for text that is none, for more than nine places, and beyond kMaxNano.
[[nodiscard]] std::optional<Nano> parse_nano(std::string_view text);

/// Appends a number as plain_decimal() writes it: "8", "-0.25".
void append_nano(std::string& out, Nano number);
[[nodiscard]] std::string nano_text(Nano number);

/// a * b and a / b, rounded to nine places, ties to even. Nothing beyond kMaxNano. REQUIRES: magnitudes up to kMaxNano; b != 0 to divide.
[[nodiscard]] std::optional<Nano> multiply(Nano a, Nano b);
[[nodiscard]] std::optional<Nano> divide(Nano a, Nano b);
/// a / b as an integer, rounded to nearest, ties to even. REQUIRES: b > 0.
[[nodiscard]] Nano round_quotient(Nano a, Nano b);

}  // namespace pipeloom::sweep
