#include "sim/base/tick_sum.hpp"

#include <fmt/format.h>

namespace pipeloom {

std::string format_ticks(TickSum sum, TimeUnit unit) {
  using Wide = TickSum::Wide;
  const Wide ticks = sum < 0 ? -sum.value() : sum.value();
  const Ticks scale = ticks_per(unit);
  // The fraction as a time has the leading "0" that the whole units take the place of.
  const std::string fraction = format_ticks(static_cast<Ticks>(ticks % scale), unit);
  return fmt::format("{}{}{}", sum < 0 ? "-" : "", Wide{ticks / scale}, fraction.substr(1));
}

double to_double(TickSum sum, TimeUnit unit) {
  return static_cast<double>(sum) / static_cast<double>(ticks_per(unit));
}

}  // namespace pipeloom
