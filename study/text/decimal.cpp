#include "study/text/decimal.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "sim/base/number_text.hpp"

namespace pipeloom::sweep {
namespace {

/// 0.DIGITS * 10^point, without zeros at either end; no digits for zero.
struct Significant {
  bool negative = false;
  std::string digits;
  long point = 0;
};

std::optional<Significant> significant(std::string_view text) {
  const auto number = split_number(text);
  if (!number) return std::nullopt;
  Significant out;
  out.negative = number->negative;
  out.digits = std::string(number->integer) + std::string(number->fraction);
  out.point = static_cast<long>(number->integer.size()) + number->exponent;
  const auto last = out.digits.find_last_not_of('0');
  out.digits.resize(last == std::string::npos ? 0 : last + 1);
  const auto zeros = std::min(out.digits.find_first_not_of('0'), out.digits.size());
  out.digits.erase(0, zeros);
  out.point -= static_cast<long>(zeros);
  return out;
}

Nano magnitude(Nano number) {
  return number < 0 ? -number : number;
}

std::optional<Nano> within_range(Nano number) {
  if (magnitude(number) > kMaxNano) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::string> plain_decimal(std::string_view text) {
  const auto number = significant(text);
  if (!number) return std::nullopt;
  if (number->digits.empty()) return "0";
  const auto size = static_cast<long>(number->digits.size());
  const long point = number->point;
  if (std::max(size, point) - std::min(point, 0L) > static_cast<long>(kMaxDecimalText) - 3)
    return std::nullopt;
  std::string out = number->negative ? "-" : "";
  if (point <= 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-point), '0');
    return out + number->digits;
  }
  if (size <= point) return out + number->digits + std::string(static_cast<std::size_t>(point - size), '0');
  const auto whole = static_cast<std::size_t>(point);
  return out + number->digits.substr(0, whole) + "." + number->digits.substr(whole);
}

std::optional<Nano> parse_nano(std::string_view text) {
  const auto plain = plain_decimal(text);
  if (!plain) return std::nullopt;
  std::string_view rest = *plain;
  const bool negative = rest[0] == '-';
  if (negative) rest.remove_prefix(1);
  const auto dot = std::min(rest.find('.'), rest.size());
  const std::size_t places = rest.size() - std::min(dot + 1, rest.size());
  if (places > 9 || dot > 19) return std::nullopt;
  Nano number = 0;
  for (const char c : rest)
    if (c != '.') number = number * 10 + (c - '0');
  for (std::size_t i = places; i < 9; ++i) number *= 10;
  return within_range(negative ? -number : number);
}

void append_nano(std::string& out, Nano number) {
  if (number < 0) out += '-';
  number = magnitude(number);
  std::array<char, 24> buffer;
  const auto whole = static_cast<std::uint64_t>(number / kOne);
  out.append(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), whole).ptr);
  auto fraction = static_cast<std::uint64_t>(number % kOne);
  if (fraction == 0) return;
  out += '.';
  for (std::uint64_t digit = 100'000'000; fraction != 0; digit /= 10) {
    out += static_cast<char>('0' + fraction / digit);
    fraction %= digit;
  }
}

std::string nano_text(Nano number) {
  std::string out;
  append_nano(out, number);
  return out;
}

Nano round_quotient(Nano a, Nano b) {
  const bool negative = a < 0;
  a = magnitude(a);
  Nano quotient = a / b;
  const Nano rest = a % b;
  if (rest > b - rest || (rest == b - rest && quotient % 2 != 0)) ++quotient;
  return negative ? -quotient : quotient;
}

std::optional<Nano> multiply(Nano a, Nano b) {
  const bool negative = (a < 0) != (b < 0);
  a = magnitude(a);
  b = magnitude(b);
  // a * b / 1e9 with a = whole * 1e9 + part: neither product leaves 127 bits once the first is known to be in range.
  const Nano whole = a / kOne;
  if (whole != 0 && b > kMaxNano / whole) return std::nullopt;
  const Nano product = whole * b;
  const Nano small = (a % kOne) * b;
  const Nano half = kOne / 2;
  const Nano rest = small % kOne;
  Nano result = product + small / kOne;
  if (rest > half || (rest == half && result % 2 != 0)) ++result;
  return within_range(negative ? -result : result);
}

std::optional<Nano> divide(Nano a, Nano b) {
  const Nano result = b < 0 ? round_quotient(-a * kOne, -b) : round_quotient(a * kOne, b);
  return within_range(result);
}

}  // namespace pipeloom::sweep
