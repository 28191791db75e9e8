#pragma once

// Measurements of links, from the messages of a run. Only the executor knows their sizes, when both ends were posted, and which rank waited.

#include "executor/run/run.hpp"
#include "sim/cost/measured/measured_transfers.hpp"

namespace pipeloom::executor {

/// Over all messages of which all four times are known.
[[nodiscard]] cost::MeasuredTransfers measured_transfers(const RunResult& run);

}  // namespace pipeloom::executor
