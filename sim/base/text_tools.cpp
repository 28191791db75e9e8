#include "sim/base/text_tools.hpp"

#include <algorithm>
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

/// How far names lie apart, nearest first: folded; then as they are spelt, so that a dash that was typed is a dash that is suggested.
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

}  // namespace pipeloom
