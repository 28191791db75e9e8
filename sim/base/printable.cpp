#include "sim/base/printable.hpp"

#include <algorithm>
#include <array>

namespace pipeloom {
namespace {

/// GitHub's runner looks for the first behind any blanks, it and Azure's agent for the others anywhere in a line.
constexpr std::string_view kCommandAtBegin = "::";
constexpr std::array<std::string_view, 2> kCommandAnywhere = {"##[", "##vso["};

void disarm_commands(std::string& line) {
  const std::size_t begin = line.find_first_not_of(' ');
  if (begin != std::string::npos && line.compare(begin, kCommandAtBegin.size(), kCommandAtBegin) == 0)
    line[begin] = '?';
  for (const std::string_view command : kCommandAnywhere)
    for (std::size_t at = line.find(command); at != std::string::npos; at = line.find(command, at))
      line[at] = '?';
}

}  // namespace

Utf8Character utf8_character(std::string_view text) {
  if (text.empty()) return {};
  const auto byte = [text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (length == 0 || first > 0xf4 || length > text.size()) return {};
  std::uint32_t code = length == 1 ? first : first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return {};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[length] || surrogate || code > 0x10ffff) return {};
  return {length, code};
}

bool is_printable(std::uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7f && code <= 0x9f);
  const bool separates_lines = code == 0x2028 || code == 0x2029;
  const bool turns_direction = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return !control && !separates_lines && !turns_direction && code != 0xfffe && code != 0xffff;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character next = utf8_character(text.substr(at));
    if (next.length > 0 && is_printable(next.code))
      out += text.substr(at, next.length);
    else
      out += '?';
    at += std::max<std::size_t>(next.length, 1);
  }
  disarm_commands(out);
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out += printable(text.substr(begin, end - begin));
    if (end == text.size()) return out;
    out += '\n';
    begin = end + 1;
  }
}

}  // namespace pipeloom
