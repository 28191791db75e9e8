#include "executor/process/clock_offset.hpp"

#include <algorithm>

namespace pipeloom::executor {

ClockOffset clock_offset(std::span<const RoundTrip> trips) {
  const RoundTrip& best = *std::min_element(trips.begin(), trips.end(), [](const auto& a, const auto& b) {
    return a.received - a.sent < b.received - b.sent;
  });
  const Ticks length = best.received - best.sent;
  return {.offset = best.there - best.sent - length / 2, .error = (length + 1) / 2, .at = best.received};
}

Ticks offset_at(const ClockOffset& before, const ClockOffset& after, Ticks time) {
  if (time >= after.at) return after.offset;
  if (time <= before.at) return before.offset;
  const double share = static_cast<double>(time - before.at) / static_cast<double>(after.at - before.at);
  return before.offset + static_cast<Ticks>(share * static_cast<double>(after.offset - before.offset));
}

}  // namespace pipeloom::executor
