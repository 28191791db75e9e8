#pragma once

// The same run, another schedule: costs that were measured on one division of a model into stages, dealt out to another by layers.
//
// Rules (also docs/costs.md):
//   ends        the time of the first (the last) measured stage above that of its layers on the fastest other stage is its embedding
//               (its head), and stays whole on the first (the last) stage.
//   ranks       the rest is the rank's: a stage takes the share of its layers in the time of all layers of its rank.
//   rows        a time or factor without a microbatch is the stage's own time and dealt likewise; so is each microbatch of costs.table.
//               The difference between a time in costs.exceptions and the stage's stays whole on the rank's first stage.
//   torch       under FirstStage::Torch the first stage's W was measured with its I; they are told apart as on the other stages.
//   the others  entry, scales, noise and transfers are of entries, ranks and links and stay as they are.

#include <optional>
#include <string>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "sim/cost/cost_spec.hpp"
#include "sim/cost/source.hpp"

namespace pipeloom::cost {

struct DealtCosts {
  /// Per stage of the placement, CostSpec::layers included: it would not be dealt again.
  CostSpec spec;
  std::vector<Origin> origins;
  /// One line on the numbers that could not be dealt, if there are any.
  std::vector<std::string> warnings;
};

/// Returns nullopt if the numbers are for this placement: without CostSpec::layers, or where it names as many stages, and ranks that it gives are
/// the placement's. Throws InputError, at the place of the number concerned, where layers, ranks and numbers do not fit each other. O(S + rows).
[[nodiscard]] std::optional<DealtCosts> deal_out(const CostSpec& spec, const Placement& placement);

/// The costs of the placement's stages with these layers on them. REQUIRES: spec.layers is given, and one entry for each stage. Throws as deal_out().
[[nodiscard]] DealtCosts deal_layers(const CostSpec& spec, const Placement& placement,
                                     const std::vector<std::int32_t>& layers);
/// Sizes of the measured stages, dealt out likewise.
[[nodiscard]] StageNumbers deal_sizes(const StageNumbers& sizes, const CostSpec& spec,
                                      const Placement& placement, const std::vector<std::int32_t>& layers);

}  // namespace pipeloom::cost
