#include "study/page/html.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace pipeloom::study::page {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

/// Bytes of the well-formed UTF-8 character at text[at] (RFC 3629), 0 if there is none; its number goes to `code`.
std::size_t character_at(std::string_view text, std::size_t at, std::uint32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[at + i]); };
  const std::uint8_t first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (length == 0 || first > 0xf4 || at + length > text.size()) return 0;
  code = length == 1 ? first : first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return 0;
    code = code << 6U | (byte(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < kLeast[length] || surrogate || code > 0x10ffff ? 0 : length;
}

bool may_stand(std::uint32_t code) {
  if (code < 0x20) return code == '\n' || code == '\t';
  const bool control = code >= 0x7f && code <= 0x9f;
  const bool turns_direction = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return !control && !turns_direction && code != 0xfffe && code != 0xffff;
}

std::string_view reference(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t code = 0;
    const std::size_t length = character_at(text, at, code);
    if (length == 0 || !may_stand(code))
      out += kReplacement;
    else if (const std::string_view written = reference(text[at]); !written.empty())
      out += written;
    else
      out += text.substr(at, length);
    at += length == 0 ? 1 : length;
  }
  return out;
}

std::string element(std::string_view name, std::string_view attributes, std::string_view content) {
  return fmt::format("<{}{}{}>{}</{}>", name, attributes.empty() ? "" : " ", attributes, content, name);
}

std::string coordinate(double value, int digits) {
  constexpr std::array<long long, 4> kPowers = {1, 10, 100, 1000};
  const long long power = kPowers[static_cast<std::size_t>(digits)];
  const long long scaled = std::llround(value * static_cast<double>(power));
  std::string out = scaled < 0 ? "-" : "";
  out += std::to_string(std::llabs(scaled) / power);
  long long rest = std::llabs(scaled) % power;
  if (rest == 0) return out;
  std::string fraction = fmt::format("{:0{}}", rest, digits);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return out + '.' + fraction;
}

}  // namespace pipeloom::study::page
