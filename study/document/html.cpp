#include "study/document/html.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "sim/base/printable.hpp"

namespace pipeloom::study::page {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

/// Line ends and tabs are no harm within a page.
bool may_stand(std::uint32_t code) {
  return code == '\n' || code == '\t' || is_printable(code);
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
    const auto [length, code] = utf8_character(text.substr(at));
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
