#include "sim/base/number_text.hpp"

#include <algorithm>

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

}  // namespace pipeloom
