#pragma once

// Scenarios (sim/engine/scenarios.hpp) under message rules: the program once for each of them, with the same draws. Some tens of times slower than a
// pass over a fixed order.

#include <cstdint>

#include <pipeloom/costs.hpp>
#include "sim/engine/scenarios.hpp"
#include "sim/messages/program_engine.hpp"

namespace pipeloom {

/// Scenarios 0 .. count - 1 of `seed`, drawn as Scenarios does or, where that does not support the schedule, as OpDraws. A link's share of the path
/// is the time that its messages run, without the wait for others in a queue. `costs` are bound to the program's schedule. Throws as these do, and
/// ScheduleError if the program hangs. REQUIRES: run_program() accepts the arguments; 0 <= count.
[[nodiscard]] ScenarioTimes program_scenarios(const Program& program, const Costs& costs,
                                              const MessageRules& rules, const Noise& noise, int count,
                                              std::uint64_t seed);

}  // namespace pipeloom
