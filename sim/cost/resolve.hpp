#pragma once

// From the user's input to the engine's tables.
//
// Rules (also docs/model.md):
//   missing durations   B = I + W; given B and W, I = B - W; given B and I, W = B - I; given only B, W = floor(B / 2)
//                       ticks and I = B - W; none of the four: F 1, B 2, I 1, W 1.
//   per rank            each number is divided by v = S / p; remainder ticks go to the rank's first chunks, so that a
//                       rank's sum is exact. An array has one entry per rank, or one per stage.
//   per model           divided by S; remainder ticks to the first stages. Only a single number makes sense.
//   stage_scale         times the factor of the slot's stage, rounded to the nearest tick; after all of the above.
//   rank_scale          times the factor of the rank that holds the slot, rounded to the nearest tick; after stage_scale.
//   layers              numbers of other stages than the schedule's are dealt out to these first (sim/cost/deal.hpp).
//   transfers           latency + 8 bytes / bandwidth between different ranks, 0 within one.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/cost/cost_spec.hpp"
#include "sim/cost/shape.hpp"
#include "sim/cost/source.hpp"

namespace pipeloom::cost {

struct ResolvedCosts {
  Costs costs;
  /// Durations per chunk pass before rank_scale and stage_scale, [kind][stage], all four filled in: what the effective
  /// configuration shows.
  std::array<std::vector<Ticks>, kOpKinds> stage_duration;
  /// Explicit group durations before they are spread over replicas, [stage]; empty otherwise.
  std::vector<Ticks> stage_overlap;
  /// One factor for each, tables written out; empty where none is given. costs.microbatch_scale is the third.
  std::vector<Scale> rank_scale;
  std::vector<Scale> stage_scale;
  /// Layers as in CostSpec, for the schedule's own stages.
  StageCounts layers;
  StageCounts stage_ranks;
  /// CostSpec::table and exceptions with times of one chunk pass.
  CostRows table;
  CostRows exceptions;
  /// The argument of bind() (sim/cost/bind.hpp): empty where nothing depends on a microbatch or slice, as durations hold the rest then.
  std::vector<OpCost> ops;
  std::vector<Origin> origins;
  std::vector<std::string> warnings;
};

/// Costs for this shape. Throws InputError, at the place of the number concerned, when a needed duration can neither be
/// found nor derived, an array or table does not fit p, S or m, or a result overflows. O(S + m).
[[nodiscard]] ResolvedCosts resolve(const CostSpec& spec, const Shape& shape);
/// The same from other sources than those of sim/cost/sources.def.
[[nodiscard]] ResolvedCosts resolve(const CostSpec& spec, const Shape& shape, std::span<const Source> from);
/// The same for a schedule's shape, with facts that only its order gives: warns about explicit group durations below the longest part. A
/// pass over the ops where there are such durations.
[[nodiscard]] ResolvedCosts resolve(const CostSpec& spec, const Schedule& schedule);

/// MemoryModel::limit of `ranks` ranks, in 1/parts of a byte. Throws InputError where the input has another number of them.
[[nodiscard]] std::vector<Bytes> resolve_limit(const MemorySpec& spec, int ranks, int parts = 1);

/// Memory tables for this placement, activation, released, static and stash bytes divided as `spec.per` says (as durations are). Throws
/// InputError like resolve().
[[nodiscard]] MemoryModel resolve_memory(const MemorySpec& spec, const Placement& placement);

}  // namespace pipeloom::cost
