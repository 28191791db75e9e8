#include "sim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

#include "sim/base/literals.hpp"
#include "sim/base/printable.hpp"

namespace pipeloom {
namespace {

constexpr std::size_t kShown = 80;
constexpr std::size_t kShownPlace = 200;
/// A message lists all valid names where they take no more letters than that, else so many of the nearest.
constexpr std::size_t kMostLetters = 300;
constexpr std::size_t kMostListed = 10;

/// Lower case, without '-' and '_': how names are compared for suggestions.
std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != '-' && c != '_') out.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
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

/// All of `valid` if they are short, else those that look most like `name`, in the order of `valid`.
std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& valid) {
  std::size_t letters = 0;
  for (const std::string& one : valid) letters += one.size() + 2;
  if (letters <= kMostLetters || valid.size() <= kMostListed) return valid;
  const std::string_view wanted = name.substr(0, kMaxCompared);
  std::vector<std::pair<Distance, std::size_t>> ranked;  // and its place
  for (std::size_t i = 0; i < valid.size(); ++i)
    ranked.emplace_back(distance_between(wanted, std::string_view(valid[i]).substr(0, kMaxCompared)), i);
  std::sort(ranked.begin(), ranked.end());
  ranked.resize(kMostListed);
  std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<std::string> out;
  for (const auto& [distance, place] : ranked) out.push_back(valid[place]);
  return out;
}

}  // namespace

std::string Where::text() const {
  // Longer than other names: editors and CI servers open what stands here.
  std::string shown = shortened(file, kShownPlace);
  if (line <= 0) return shown;
  if (column <= 0) return fmt::format("{}:{}", shown, line);
  return fmt::format("{}:{}:{}", shown, line, column);
}

std::string Error::line() const {
  const std::string place = where_.text();
  // What a message shows of an input is printable already; the system's and the packages' own words may hold anything.
  const std::string message = printable_lines(what());
  return place.empty() ? "error: " + message : fmt::format("{}: error: {}", place, message);
}

std::string shortened(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return printable(text);
  constexpr std::string_view kCut = "...";
  const std::size_t room = limit > kCut.size() ? limit - kCut.size() : 0;
  // Neither half may begin or end within a character; none has more than three bytes that go on with one.
  const auto is_inside = [&text](std::size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U;
  };
  std::size_t head = room - room / 2;
  for (int i = 0; i < 3 && head > 0 && is_inside(head); ++i) --head;
  std::size_t tail = text.size() - room / 2;
  for (int i = 0; i < 3 && tail < text.size() && is_inside(tail); ++i) ++tail;
  return printable(printable(text.substr(0, head)).append(kCut).append(printable(text.substr(tail))));
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

InputError InputError::unknown_name(Where where, std::string_view what, std::string_view name,
                                    const std::vector<std::string>& valid) {
  const std::string nearest = nearest_name(name, valid);
  const std::string hint =
      nearest.empty() ? "" : fmt::format("did you mean '{}'? ", shortened(nearest, kShown));
  std::vector<std::string> listed = nearest_names(name, valid);
  const std::size_t left_out = valid.size() - listed.size();
  for (std::string& one : listed) one = shortened(one, kShown / 2);
  return {std::move(where),
          fmt::format("unknown {} '{}'; {}valid: {}{}", what, shortened(name, kShown), hint,
                      fmt::join(listed, ", "), left_out > 0 ? fmt::format(" and {} more", left_out) : "")};
}

InputError InputError::cannot_read(std::string_view path, std::string_view reason) {
  return InputError(Where{std::string(path)},
                    fmt::format("cannot read it: {}; check the path and its permissions", reason));
}

InputError InputError::exists(std::string_view path) {
  return InputError(Where{std::string(path)},
                    "the file exists already; use --force to overwrite it, or another name");
}

TooLargeError InputError::too_large(std::string_view what, double need_bytes, double limit_bytes) {
  return TooLargeError(
      fmt::format("{} would need about {}, more than the {} allowed; make it smaller or raise --max-memory",
                  what, estimated_bytes_text(need_bytes), estimated_bytes_text(limit_bytes)));
}

SystemError SystemError::cannot_write(std::string_view path, std::string_view reason) {
  return SystemError(fmt::format("cannot write '{}': {}", shortened(path, kShownPlace), reason));
}

}  // namespace pipeloom
