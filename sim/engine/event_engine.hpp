#pragma once

// The second engine: events in time order.
//
// Slower than the cursors, and needed only where the order of messages decides when they arrive (links that queue). Under the
// `latency` model it must find the same times as the cursor engine, which the tests use as a cross-check.

#include <memory>
#include <variant>

#include "sim/costs.hpp"
#include "sim/deadlock.hpp"
#include "sim/engine/transfer.hpp"
#include "sim/schedule.hpp"
#include "sim/timeline.hpp"

namespace pipeloom {

/// One step of the schedule, its messages carried by `network`. Ends with a Deadlock if ranks stand still.
/// REQUIRES: as Simulator. O(ops log ranks).
[[nodiscard]] std::variant<Timeline, Deadlock> simulate_events(std::shared_ptr<const Schedule> schedule,
                                                               const Costs& costs, Network& network);

}  // namespace pipeloom
