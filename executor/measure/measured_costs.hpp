#pragma once

// What a run says about costs: how long ops and messages took, for the simulation of the next run.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "executor/measure/duration_sample.hpp"
#include "executor/measure/measured_transfers.hpp"
#include "executor/run/run.hpp"

namespace pipeloom::executor {

struct MeasuredCosts {
  /// [kind][stage], of ops that ran alone. count = 0: none did.
  std::array<std::vector<DurationSample>, kOpKinds> op;
  /// The same, of ops that ran in groups: the group's time in equal shares, which is no op's own time.
  std::array<std::vector<DurationSample>, kOpKinds> share;
  /// [stage of the forward] of groups of one forward and others; empty without groups.
  std::vector<DurationSample> group;
  MeasuredTransfers transfers;
};

/// How long one op takes alone, as far as a run says so.
struct OpEstimate {
  enum class Source : std::uint8_t {
    Alone,  ///< median of those that ran alone
    Sum,    ///< a B that never did, of a stage whose I and W did: their medians' sum
    Share,  ///< none of this: the median share of its groups, which predicts the schedule that ran and no other
    None,  ///< the stage has no such ops
  };
  Ticks time = 0;
  Source source = Source::None;
};
[[nodiscard]] OpEstimate estimate_of(const MeasuredCosts& costs, OpKind kind, std::size_t stage);

/// Over all timed steps, ranks and microbatches.
[[nodiscard]] MeasuredCosts measured_costs(const RunResult& run);

}  // namespace pipeloom::executor
