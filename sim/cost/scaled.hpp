#pragma once

// Products that are checked: values that engines multiply unchecked have fitted here once.

#include <cstdint>
#include <optional>

#include <pipeloom/units.hpp>

namespace pipeloom::cost {

__extension__ using Wide = __int128;

/// a * b / c to the nearest, or nothing when that reaches kMaxTicks. REQUIRES: all >= 0, c > 0, a * b + c / 2 fits.
[[nodiscard]] inline std::optional<std::int64_t> scaled(Wide a, Wide b, Wide c) {
  const Wide result = (a * b + c / 2) / c;
  if (result >= kMaxTicks) return std::nullopt;
  return static_cast<std::int64_t>(result);
}

}  // namespace pipeloom::cost
