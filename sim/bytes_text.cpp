#include "sim/bytes_text.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>

namespace pipeloom {
namespace {

/// At most one decimal.
std::string in_units(Bytes bytes, double step, const std::array<const char*, 7>& units) {
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // 999.95 would be shown as 1000.0.
  for (; std::abs(value) >= step - 0.05 && unit + 1 < units.size(); ++unit) value /= step;
  return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : 1, units[unit]);
}

}  // namespace

std::string short_bytes_text(Bytes bytes) {
  static constexpr std::array<const char*, 7> kUnits = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  return in_units(bytes, 1000, kUnits);
}

std::string bytes_text(Bytes bytes) {
  static constexpr std::array<const char*, 7> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  const std::string decimal = short_bytes_text(bytes);
  return std::abs(bytes) < 1024 ? decimal : fmt::format("{} ({})", decimal, in_units(bytes, 1024, kUnits));
}

}  // namespace pipeloom
