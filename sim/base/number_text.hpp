#pragma once

// The pieces of a JSON number, so that decimals are read digit by digit and never through a double.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <pipeloom/units.hpp>

namespace pipeloom {

/// (-) integer . fraction * 10^exponent; views into the text that was split.
struct NumberText {
  bool negative = false;
  std::string_view integer;   ///< at least one digit, no leading zero but a single one
  std::string_view fraction;  ///< may be empty
  long exponent = 0;          ///< clamped to +-9999: further ones are as good as zero or overflow
};

/// Returns nullopt for text that is no JSON number.
[[nodiscard]] std::optional<NumberText> split_number(std::string_view text);

// Quantities as people write and read them, with their unit: "23.6ms", "80GiB", "400Gbit/s". A blank may precede the unit.

/// "23.6ms", "1.5 s", "40us", "7ns": in ticks of real time, rounded to nearest. Returns nullopt for any other text, and for times below 0 or
/// beyond kMaxTicks.
[[nodiscard]] std::optional<FixedPoint> parse_time_literal(std::string_view text);

/// "715MB", "80GiB", "512 B", the unit in any case: k, M, G, T and P are powers of 1000, Ki, Mi, Gi, Ti and Pi of 1024; rounded to a whole
/// byte. Returns nullopt for any other text, and for sizes below 0 or of 2^62 and more.
[[nodiscard]] std::optional<Bytes> parse_bytes_literal(std::string_view text);

/// "400Gbit/s", "50GB/s" (of 8 bits), powers of 1000: in bits per second, rounded. Returns nullopt for any other text, and for rates below 0 or
/// of 2^62 and more.
[[nodiscard]] std::optional<std::int64_t> parse_rate_literal(std::string_view text);

/// "4 B", "81.1 GB (75.5 GiB)": one decimal, units of 1000, and of 1024 in parentheses.
[[nodiscard]] std::string bytes_text(Bytes bytes);
/// "81.1 GB", for cells of tables.
[[nodiscard]] std::string short_bytes_text(Bytes bytes);
/// "512 MiB", "1.25 GiB": six digits that count, for marks of axes, which are round in powers of two.
[[nodiscard]] std::string binary_bytes_text(double bytes);
/// A share for people: "27.3 %", and below 0.1 % with two decimals, "0.04 %"; "0.0 %" is exactly 0. Files have the ratio itself.
[[nodiscard]] std::string percent_text(double ratio);
/// A relative change in the same digits, with its sign: "+1.2 %", "-0.04 %"; "0.0 %" where nothing changes.
[[nodiscard]] std::string change_text(double ratio);

/// bytes_text() of an estimate, which may be beyond all Bytes.
[[nodiscard]] std::string estimated_bytes_text(double bytes);

}  // namespace pipeloom
