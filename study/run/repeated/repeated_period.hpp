#pragma once

// Time per step of long runs whose steps overlap.

#include <cstdint>
#include <optional>

#include <pipeloom/units.hpp>
#include "study/run/repeated/short_runs.hpp"

namespace pipeloom::study {

/// steady_period() under post-validation of the run with `times` repetitions more than the shorter one. Every step that tells it begins with
/// the ranks apart; it is the shorter run's with as many repetitions if the state at two cuts of that one repeats too. Nullopt if it does not in one of
/// them. Throws InputError for times above kMaxTicks.
[[nodiscard]] std::optional<Ticks> repeated_period(const ShortRuns& runs, std::int64_t times);

}  // namespace pipeloom::study
