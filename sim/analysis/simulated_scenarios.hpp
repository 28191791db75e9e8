#pragma once

// Scenarios (sim/engine/scenarios.hpp) of schedules that no fixed order holds: with recomputation, copies, slices or pairs whose parts take turns. The
// whole step is simulated for each of them, some hundred times slower than a pass over a fixed order.

#include <cstdint>
#include <memory>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/engine/scenarios.hpp"

namespace pipeloom {

/// Whether such runs have scenarios: no pauses, which fall on starts that are not known beforehand, and no durations of pairs by stage, which no op's
/// own duration changes.
[[nodiscard]] bool supports_simulated_scenarios(const Costs& costs, const Noise& noise);

/// Scenarios 0 .. count - 1 of `seed`; every op is drawn by itself, a group's parts too. Throws InputError where a step may take more than kMaxTicks,
/// HangError if the schedule hangs. REQUIRES: supports_simulated_scenarios(); costs are bound to the schedule; 0 <= count.
[[nodiscard]] ScenarioTimes simulated_scenarios(const Schedule& schedule, const Costs& costs,
                                                const Noise& noise, int count, std::uint64_t seed);

}  // namespace pipeloom
