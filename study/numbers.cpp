#include "study/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pipeloom::study {
namespace {

constexpr int kDecimals = 4;

/// Ticks of the decimal place `decimals` after the point.
Ticks decimal_place(TimeUnit unit, int decimals) {
  Ticks place = ticks_per(unit);
  for (int i = 0; i < decimals; ++i) place /= 10;
  return place;
}

}  // namespace

std::string bytes_text(Bytes bytes) {
  static constexpr std::array<const char*, 7> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // 1023.95 would be shown as 1024.0.
  for (; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : 1, kUnits[unit]);
}

std::string count_text(std::size_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string count_text(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count_text(count), noun, count == 1 ? "" : noun.ends_with("ch") ? "es" : "s");
}

std::string ratio_text(double ratio) {
  return fmt::format("{:.4f}", ratio);
}

void TimeFormat::include(Ticks value) {
  largest_ = std::max(largest_, value);
  // The last step is one tick, which divides everything.
  while (value % decimal_place(unit_, exact_decimals_) != 0) ++exact_decimals_;
}

int TimeFormat::decimals() const {
  int allowed = kDecimals;
  for (Ticks one = ticks_per(unit_); largest_ > 0 && largest_ < one; one /= 10) ++allowed;
  return std::min(exact_decimals_, allowed);
}

std::string TimeFormat::text(Ticks value) const {
  // Whole numbers of the last place, rounded half up: a double would lose digits of long runs.
  const Ticks place = decimal_place(unit_, decimals());
  const Ticks rounded = value / place + (value % place * 2 >= place ? 1 : 0);
  const Ticks places = ticks_per(unit_) / place;
  return fmt::format("{}.{:0{}}", rounded / places, rounded % places, decimals());
}

}  // namespace pipeloom::study
