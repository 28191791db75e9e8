#pragma once

// From what the user said to the engine's tables.
//
// Rules (also docs/model.md):
//   missing durations   B = I + W; given B and W, I = B - W; given B and I, W = B - I; given only B, W = floor(B / 2)
//                       ticks and I = B - W; none of the four: F 1, B 2, I 1, W 1.
//   per rank            each number is divided by v = S / p; remainder ticks go to the rank's first chunks, so that a
//                       rank's sum is exact. An array has one entry per rank, or one per stage.
//   per model           divided by S; remainder ticks to the first stages. Only a single number makes sense.
//   rank_scale          times the factor of the rank that holds the slot, rounded to the nearest tick; after all of the above.
//   transfers           latency + 8 bytes / bandwidth between different ranks, 0 within one.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "sim/cost/cost_spec.hpp"
#include "sim/costs.hpp"
#include "sim/memory.hpp"
#include "sim/schedule.hpp"

namespace pipeloom::cost {

/// Where a value of the effective configuration came from: {"costs.backward_input", "derived: backward - backward_weight"}.
using Origin = std::pair<std::string, std::string>;

struct ResolvedCosts {
  Costs costs;
  /// Durations per chunk pass before rank_scale, [kind][stage], all four filled in: what the effective configuration
  /// shows.
  std::array<std::vector<Ticks>, kOpKinds> stage_duration;
  /// Explicit group durations before they are spread over replicas, [stage]; empty otherwise.
  std::vector<Ticks> stage_overlap;
  std::vector<Origin> origins;
  std::vector<std::string> warnings;
};

/// Costs for this schedule. Throws InputError, at the place of the number concerned, when a needed duration can neither be
/// found nor derived, an array or table does not fit p, S or m, or a result overflows. Warns about explicit group durations
/// below the longest part. O(S + m), plus a pass over the ops for explicit groups.
[[nodiscard]] ResolvedCosts resolve(const CostSpec& spec, const Schedule& schedule);

/// Memory tables for this placement. Throws InputError like resolve().
[[nodiscard]] MemoryModel resolve_memory(const MemorySpec& spec, const Placement& placement);

}  // namespace pipeloom::cost
