// V-ZB: a V schedule with split backward that has next to no idle time at the memory of 1F1B.
//
// Source: Qi et al., "Pipeline Parallelism with Controllable Memory" (2024, arXiv 2405.15362), section 3; the
// order is that of the authors' program, pass for pass (building_block.hpp has the steps).
//
// p = 4, m = 8; F takes one column (two characters), i and w too; small letters are chunk 1, stage 2p-1-r:
//
//   rank 0  F0F1F2F3F4F5F6f0i0w0f1i1w1f2i2w2f3i3I0w3W0F7f4i4I1w4W1f5i5I2w5W2f6i6I3w6W3f7i7I4w7I5W4I6W5I7W6W7
//   rank 1    F0F1F2F3F4f0F5f1i0w0f2i1w1f3i2I0w2i3w3F6f4I1W0F7W1f5i4I2i5w4f6w5I3i6w6f7W2I4i7I5w7I6W3I7W4W5W6W7
//   rank 2      F0F1F2f0F3f1F4f2i0w0f3i1I0w1W0F5f4i2I1w2F6W1f5i3I2w3F7W2f6i4I3i5w4f7i6I4w5I5i7I6w6I7w7W3W4W5W6W7
//   rank 3        F0f0F1f1F2f2F3f3i0I0w0W0F4f4i1I1w1F5W1f5i2I2w2F6W2f6i3I3w3F7W3f7i4I4i5I5i6I6i7I7w4w5w6w7W4W5W6W7
//
// Building block, slots of microbatch 0 on rank r: F at 4r, f at 6p-5-2r, i at 6p-4+4r, I at 12p-9-2r: four slots a rank on
// the way up, two on the way down, and each turn at once. So a rank's four passes are always F f i I in a row,
// modulo 6, and its W's have the other two slots. The paper gives the distances (4, 2); the turns are ours.
//
// Requires: nothing; any p, m. With m < 2p - 1 the pipeline never fills and less is gained.
//
// Closed forms, F = I = W per chunk pass, equal stages, no transfers, m >= 2p: every rank's window is 6m F, without
// any idle time, and the makespan (6m + p - 1) F; peak_live 2p chunk passes on every rank (m >= 2p - 1), 1F1B's
// memory on its first rank.

#include "schedules/building_block.hpp"
#include "schedules/closed_form.hpp"
#include "schedules/placements.hpp"
#include "schedules/registry.hpp"

namespace pipeloom::schedules {
namespace {

BuildingBlock block(int p) {
  BuildingBlock block;
  for (int r = 0; r < p; ++r)
    block.slots.push_back({4 * r, 6 * p - 5 - 2 * r, 6 * p - 4 + 4 * r, 12 * p - 9 - 2 * r});
  return block;
}

Schedule emit(const Params& params, const std::function<bool(double)>& progress) {
  return emit_block(block(params.ranks), params.microbatches, progress);
}

std::vector<ClosedForm> closed_forms() {
  return {
      time_form("max_window", "6m F", "equal stages, no transfers, F = I = W, m >= 2p",
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  if (params.microbatches < 2 * params.ranks || !equal_passes(costs)) return std::nullopt;
                  return std::int64_t{6} * params.microbatches * costs.forward;
                }),
      time_form("makespan", "(6m + p - 1) F", "equal stages, no transfers, F = I = W, m >= 2p",
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  const std::int64_t p = params.ranks;
                  const std::int64_t m = params.microbatches;
                  if (m < 2 * p || !equal_passes(costs)) return std::nullopt;
                  return (6 * m + p - 1) * costs.forward;
                }),
      order_form("peak_live", "2p chunk passes", "m >= 2p - 1",
                 [](const Params& params, Rank) -> Value {
                   if (params.microbatches < 2 * params.ranks - 1) return std::nullopt;
                   return 2 * params.ranks;
                 }),
  };
}

}  // namespace

Generator v_zb() {
  return {
      .name = "v-zb",
      .aliases = {},
      .summary = "no idle time between a rank's first and last op, at 1f1b's memory",
      .source =
          "Qi et al. 2024, Pipeline Parallelism with Controllable Memory, arXiv 2405.15362, section 3: "
          "offsets (4, 2)",
      .when_to_use =
          "As zbv, from a fixed rule: the order does not look at times. Best with the post-validation step "
          "rule, where each rank starts its next step on its own.",
      .requirements = split_v_requirements(),
      .closed_forms = closed_forms(),
      .placement = v_placement,
      .emit = whatever_the_costs(emit),
      .period = repeats_every(1),
  };
}

}  // namespace pipeloom::schedules
