#include "sim/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace pipeloom {
namespace {

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

/// Sizes for people: "1.5 GiB".
std::string readable_bytes(double bytes) {
  static constexpr const char* kSuffix[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t i = 0;
  for (; bytes >= 1024 && i + 1 < std::size(kSuffix); ++i) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, i == 0 ? 0 : 1, kSuffix[i]);
}

}  // namespace

std::string Where::text() const {
  if (line <= 0) return file;
  if (column <= 0) return fmt::format("{}:{}", file, line);
  return fmt::format("{}:{}:{}", file, line, column);
}

std::string Error::line() const {
  const std::string place = where_.text();
  return place.empty() ? fmt::format("error: {}", what()) : fmt::format("{}: error: {}", place, what());
}

std::string shortened(std::string_view text, std::size_t limit) {
  const bool cut = text.size() > limit;
  std::size_t length = cut ? limit : text.size();
  const auto continues = [&text](std::size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80;
  };
  while (cut && length > 0 && continues(length)) --length;
  std::string out(text.substr(0, length));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return cut ? out + "..." : out;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& valid) {
  // Names far longer than any valid one cannot be near, and would make the distance quadratic in hostile input.
  if (name.size() > 128) return {};
  const std::string wanted = folded(name);
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, wanted.size() / 3) + 1;
  for (const auto& candidate : valid) {
    const std::size_t distance = edit_distance(wanted, folded(candidate));
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
  const std::string hint = nearest.empty() ? "" : fmt::format("did you mean '{}'? ", nearest);
  const std::string shown = shortened(name, 128);
  return {std::move(where),
          fmt::format("unknown {} '{}'; {}valid: {}", what, shown, hint, fmt::join(valid, ", "))};
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
                  what, readable_bytes(need_bytes), readable_bytes(limit_bytes)));
}

SystemError SystemError::cannot_write(std::string_view path, std::string_view reason) {
  return SystemError(fmt::format("cannot write '{}': {}", path, reason));
}

}  // namespace pipeloom
