#pragma once

// A second engine, for tests: events in time order.
//
// It is slower than the cursors and shares the table of tensors with them alone. Under the `latency` model both must find the same times.

#include <memory>
#include <variant>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>
#include "sim/engine/simulator.hpp"
#include "support/transfer.hpp"

namespace pipeloom {

/// One step of the schedule, its messages carried by `network`. Ends with a ScheduleHang if ranks stand still.
/// REQUIRES: as Simulator. O(ops log ranks).
[[nodiscard]] std::variant<Timeline, ScheduleHang> simulate_events(std::shared_ptr<const Schedule> schedule,
                                                                   const Costs& costs, Network& network);

}  // namespace pipeloom
