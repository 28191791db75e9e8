#pragma once

// Costs from measured times: how long ops took, for the simulation of the next run. A timeline is all that this needs, whatever program ran it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <pipeloom/simulate.hpp>
#include "sim/kinds.hpp"

namespace pipeloom::cost {

/// A sample of durations, in ticks.
struct DurationSample {
  std::size_t count = 0;
  Ticks median = 0;
  Ticks spread = 0;  ///< third less first quartile
};

/// Sorts `durations`. The median of an even number lies half-way between the two in the middle.
[[nodiscard]] DurationSample sample_of(std::vector<Ticks> durations);

/// True if any of them, [stage], has a duration.
[[nodiscard]] bool was_seen(const std::vector<DurationSample>& samples);

/// How long the ops of a timeline took.
struct MeasuredOps {
  /// [kind][stage], of ops that ran alone. count = 0: none did. Where sequences are sliced, of whole passes: the sums over their slices.
  std::array<std::vector<DurationSample>, kOpKinds> op;
  /// The same, of ops that ran in groups: the group's time in equal shares, which is no op's own time.
  std::array<std::vector<DurationSample>, kOpKinds> share;
  /// [kind]: stages all of whose samples may hold a wait, so that the least of them counts as their median.
  std::array<std::vector<std::size_t>, kOpKinds> least;
  /// Parts of some group ran one after the other.
  bool in_turn = false;
  /// [stage of the forward] of groups of one forward and others; empty without groups.
  std::vector<DurationSample> group;
  /// (stage of the forward, stage of the other) of groups of one forward and one other op.
  std::map<std::pair<std::size_t, std::size_t>, DurationSample> pairs;
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
[[nodiscard]] OpEstimate estimate_of(const MeasuredOps& measured, OpKind kind, std::size_t stage);

/// Over all steps, ranks and microbatches. `held`, [op] or empty: ops whose times may hold a wait count where their stage and kind has no others.
[[nodiscard]] MeasuredOps measured_ops(const Timeline& timeline, const std::vector<bool>& held = {});

}  // namespace pipeloom::cost
