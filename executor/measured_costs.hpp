#pragma once

// What a run says about costs: how long ops and messages took, for the simulation of the next run.

#include <array>
#include <vector>

#include "executor/duration_sample.hpp"
#include "executor/measured_transfers.hpp"
#include "executor/run.hpp"

namespace pipeloom::executor {

struct MeasuredCosts {
  /// [kind][stage], of ops that ran alone; of a stage that ran them in groups only, the group's time in equal shares. count = 0: none.
  std::array<std::vector<DurationSample>, kOpKinds> op;
  /// [stage of the forward] of groups of one forward and others; empty without groups.
  std::vector<DurationSample> group;
  MeasuredTransfers transfers;
};

/// Over all timed steps, ranks and microbatches.
[[nodiscard]] MeasuredCosts measured_costs(const RunResult& run);

}  // namespace pipeloom::executor
