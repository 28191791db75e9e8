#pragma once

// Scenarios (sim/engine/scenarios.hpp) of schedules that no fixed order holds: with recomputation, copies, slices or pairs whose parts take turns. The
// whole step is simulated for each of them, some hundred times slower than a pass over a fixed order.

#include <cstdint>
#include <memory>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/engine/scenarios.hpp"

namespace pipeloom {

/// run_each() on the simulator. Throws as that does, and HangError if the schedule hangs. REQUIRES: as run_each().
[[nodiscard]] ScenarioTimes simulated_scenarios(const Schedule& schedule, const Costs& costs,
                                                const Noise& noise, int count, std::uint64_t seed);

}  // namespace pipeloom
