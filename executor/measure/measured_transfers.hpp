#pragma once

// What the messages of a run say about links. The executor alone knows their sizes, when both ends were posted, and who stood waiting.

#include "executor/run/run.hpp"
#include "sim/cost/measured/measured_transfers.hpp"

namespace pipeloom::executor {

/// Over all messages of which all four times are known.
[[nodiscard]] cost::MeasuredTransfers measured_transfers(const RunResult& run);

}  // namespace pipeloom::executor
