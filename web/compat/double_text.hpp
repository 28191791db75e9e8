#pragma once

// std::to_chars and std::from_chars of doubles, for libraries that lack them. Texts are those of GNU's library: the fewest digits that read back, fixed
// where that is no longer than scientific.

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <system_error>

namespace pipeloom::compat {

/// A number as digits and a power of ten: digits * 10^exponent, without zeros at the end.
struct Decimal {
  std::string digits;
  int exponent = 0;
};

/// The shortest one that reads back. REQUIRES: 0 < value, finite.
inline Decimal decimal_of(double value) {
  const auto found = fmt::detail::dragonbox::to_decimal(value);
  Decimal out{std::to_string(found.significand), found.exponent};
  while (out.digits.size() > 1 && out.digits.back() == '0') {
    out.digits.pop_back();
    ++out.exponent;
  }
  return out;
}

/// "1.25e+02".
inline std::string scientific_text(const Decimal& number) {
  std::string out(1, number.digits.front());
  if (number.digits.size() > 1) out += '.' + number.digits.substr(1);
  const int power = number.exponent + static_cast<int>(number.digits.size()) - 1;
  const std::string size = std::to_string(std::abs(power));
  return out + (power < 0 ? "e-" : "e+") + (size.size() < 2 ? "0" : "") + size;
}

/// "125", "0.0125". From 2^53 on, whole numbers are written exactly.
inline std::string fixed_text(const Decimal& number, double value) {
  constexpr double kExactFrom = 9007199254740992.0;
  if (number.exponent >= 0) {
    if (value < kExactFrom)
      return number.digits + std::string(static_cast<std::size_t>(number.exponent), '0');
    std::array<char, 400> text{};
    return {text.data(), static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.0f", value))};
  }
  const int before = static_cast<int>(number.digits.size()) + number.exponent;
  if (before <= 0) return "0." + std::string(static_cast<std::size_t>(-before), '0') + number.digits;
  const auto cut = static_cast<std::size_t>(before);
  return number.digits.substr(0, cut) + '.' + number.digits.substr(cut);
}

/// True where the fixed text has at most as many characters: a number with one digit needs no point in its scientific text.
inline bool fixed_is_short(const Decimal& number) {
  const int digits = static_cast<int>(number.digits.size());
  const bool one = digits == 1;
  return number.exponent >= -(digits + 3) + (one ? 1 : 0) && number.exponent <= 5 - (one ? 1 : 0);
}

/// As std::to_chars writes it; `format` is fixed, scientific, or std::chars_format{} for the shorter.
inline std::string double_text(double value, std::chars_format format = {}) {
  const std::string sign = std::signbit(value) ? "-" : "";
  if (std::isnan(value)) return sign + "nan";
  if (std::isinf(value)) return sign + "inf";
  const double size = std::abs(value);
  const Decimal number = size == 0 ? Decimal{"0", 0} : decimal_of(size);
  const bool is_fixed =
      format == std::chars_format{} ? fixed_is_short(number) : format == std::chars_format::fixed;
  return sign + (is_fixed ? fixed_text(number, size) : scientific_text(number));
}

/// The characters of `text` that are a number as std::from_chars takes it; 0 if it does not begin with one.
inline std::size_t number_length(std::string_view text) {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const auto skip_digits = [&] {
    const std::size_t begin = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at - begin;
  };
  std::size_t digits = skip_digits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    digits += skip_digits();
  }
  if (digits == 0) return 0;
  const std::size_t mantissa = at;
  if (at == text.size() || (text[at] != 'e' && text[at] != 'E')) return mantissa;
  ++at;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  return skip_digits() > 0 ? at : mantissa;
}

struct ReadDouble {
  std::size_t length = 0;  ///< 0: no number
  std::errc error = {};
  double value = 0;
};

/// As std::from_chars reads it, but for infinity and NaN, which are no numbers here.
inline ReadDouble read_double(std::string_view text) {
  ReadDouble out{.length = number_length(text)};
  if (out.length == 0) {
    out.error = std::errc::invalid_argument;
    return out;
  }
  out.value = std::strtod(std::string(text.substr(0, out.length)).c_str(), nullptr);
  const bool has_digit = text.substr(0, out.length).find_first_of("123456789") < text.find_first_of("eE");
  if (std::isinf(out.value) || (out.value == 0 && has_digit)) out.error = std::errc::result_out_of_range;
  return out;
}

}  // namespace pipeloom::compat
