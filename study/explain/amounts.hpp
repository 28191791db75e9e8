#pragma once

// What each cause did to the step time.

#include <cstdint>
#include <functional>
#include <vector>

#include <pipeloom/units.hpp>

namespace pipeloom::study::explain {

/// Shapley's values of `players` causes: value[set] is the step time with the causes of that set on, bit i cause i. They are whole ticks
/// and sum to value[all] - value[none] exactly; what rounding leaves goes to the largest remainders. REQUIRES: at most 12 players, a value
/// for each set.
[[nodiscard]] std::vector<Ticks> shapley(int players, const std::vector<Ticks>& value);

/// sums / count in whole ticks whose sum is total(sums) / count rounded towards zero: each rounded down, then the largest remainders up.
[[nodiscard]] std::vector<Ticks> divide_exactly(const std::vector<Ticks>& sums, std::int64_t count);

}  // namespace pipeloom::study::explain
