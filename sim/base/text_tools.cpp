#include "sim/base/text_tools.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <utility>

namespace pipeloom {

namespace {

/// Lower case, without '-' and '_': how names are compared for suggestions.
std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '-' && c != '_') out.push_back(lower(c));
  return out;
}

/// Letters to insert, delete, replace or swap with their neighbour (optimal string alignment), three rows at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row.back();
}

/// Names far longer than any valid one cannot be near, and would make the distance quadratic in hostile input.
constexpr std::size_t kMaxCompared = 128;

/// Distance of two names, nearest first: folded; then as they are spelt, so that a dash that was typed is a dash that is suggested.
using Distance = std::pair<std::size_t, std::size_t>;

Distance distance_between(std::string_view name, std::string_view valid) {
  return {edit_distance(folded(name), folded(valid)), edit_distance(name, valid)};
}

}  // namespace

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return lower(c); });
  return out;
}

std::string_view trimmed(std::string_view text, std::string_view blanks) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string join(const std::vector<std::string>& texts, std::string_view separator) {
  std::string out;
  for (const std::string& text : texts) {
    if (&text != texts.data()) out += separator;
    out += text;
  }
  return out;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& valid) {
  if (name.size() > kMaxCompared) return {};
  std::string best;
  Distance best_distance{std::max<std::size_t>(1, folded(name).size() / 3) + 1, 0};
  for (const auto& candidate : valid) {
    const Distance distance = distance_between(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& valid,
                                       std::size_t count) {
  if (valid.size() <= count) return valid;
  const std::string_view wanted = name.substr(0, kMaxCompared);
  std::vector<std::pair<Distance, std::size_t>> ranked;  // and its place
  for (std::size_t i = 0; i < valid.size(); ++i)
    ranked.emplace_back(distance_between(wanted, std::string_view(valid[i]).substr(0, kMaxCompared)), i);
  std::sort(ranked.begin(), ranked.end());
  ranked.resize(count);
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<std::string> out;
  for (const auto& [distance, place] : ranked) out.push_back(valid[place]);
  return out;
}

namespace {

/// GitHub's runner looks for the first after any blanks, it and Azure's agent for the others anywhere in a line.
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
