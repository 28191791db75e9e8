#pragma once

// Scenarios (sim/engine/scenarios.hpp) of schedules that no fixed order holds: with recomputation, copies, slices or pairs whose parts take turns. The
// whole step is simulated for each of them, some hundred times slower than a pass over a fixed order.

#include <cstdint>
#include <memory>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/engine/scenarios.hpp"

namespace pipeloom {

/// Scenarios 0 .. count - 1 of `seed`, drawn as OpDraws says. Throws InputError as OpDraws::require_fit() does, HangError if the schedule hangs.
/// REQUIRES: costs are bound to the schedule; 0 <= count; Hiccup: 0 <= time < period; Empirical: factors.
[[nodiscard]] ScenarioTimes simulated_scenarios(const Schedule& schedule, const Costs& costs,
                                                const Noise& noise, int count, std::uint64_t seed);

}  // namespace pipeloom
