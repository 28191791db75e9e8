#pragma once

// What a run says about costs: how long ops and messages took, for the simulation of the next run.

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "executor/run.hpp"

namespace pipeloom::executor {

/// A sample of durations, in ticks.
struct DurationSample {
  std::size_t count = 0;
  Ticks median = 0;
  Ticks spread = 0;  ///< third less first quartile
};

/// Sorts `durations`. The middle of an even number is the lower of the two.
[[nodiscard]] DurationSample sample_of(std::vector<Ticks> durations);

struct MeasuredCosts {
  /// [kind][stage], of ops that ran alone; of a stage that ran them in groups only, the group's time in equal shares. count = 0: none.
  std::array<std::vector<DurationSample>, kOpKinds> op;
  /// [stage of the forward] of groups of one forward and others; empty without groups.
  std::vector<DurationSample> group;
  /// From when both ends were posted until the receiver had the message, of messages that it stood waiting for.
  DurationSample latency;
};

/// Over all timed steps, ranks and microbatches.
[[nodiscard]] MeasuredCosts measured_costs(const RunResult& run);

}  // namespace pipeloom::executor
