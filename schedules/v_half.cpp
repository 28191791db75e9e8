// V-Half: a V schedule with split backward that holds half of what 1F1B holds.
//
// Source: Qi et al., "Pipeline Parallelism with Controllable Memory" (2024, arXiv 2405.15362), section 3 and table 9; the
// order is that of the authors' program, pass for pass (building_block.hpp has the steps).
//
// p = 4, m = 8; F takes one column (two characters), i and w too; small letters are chunk 1, stage 2p-1-r:
//
//   rank 0  F0F1F2F3F4    f0i0w0f1i1w1f2    I0i2w2f3W0F5I1i3w3f4W1F6I2i4w4f5W2F7I3i5w5f6i6w6I4W3W4f7i7I5w7I6W5W6  I7W7
//   rank 1    F0F1F2F3  f0  f1i0w0f2i1w1  I0W0F4f3i2w2I1W1F5f4i3w3I2W2F6f5i4w4I3F7W3f6i5w5I4i6w6f7W4I5i7I6w7W5W6I7W7
//   rank 2      F0F1F2f0  f1  f2i0w0F3i1I0w1W0f3F4  I1i2w2f4W1F5I2i3w3f5W2F6I3i4w4f6W3F7I4i5w5f7i6I5w6I6i7w7W4I7W5W6W7
//   rank 3        F0f0F1f1F2f2    i0w0I0W0F3f3i1w1I1W1F4f4i2w2I2W2F5f5i3w3I3F6W3f6i4I4w4F7W4f7i5I5i6I6w5w6i7I7w7W5W6W7
//
// Building block, slots of microbatch 0 on rank r: F at 2r, f at 3p-2-r, i at 3p-1+y+2r, I at 6p-2+y-r, with y = 3 if
// p is even, else 0. F goes up at two slots a rank and comes down at one; so does the backward. Lifespans of
// a rank's two chunks add up to 3p slots and a few, whatever the rank.
//
// Requires: nothing; any p, m. With m < 2p - 1 the pipeline never fills and less is gained.
//
// Closed forms, F, I, W per chunk pass, equal stages, no transfers, m >= 2p - 1: makespan (6m + 3p - 7) F for even
// p, (6m + 3p - 4) F for odd p >= 3 if F = I = W; peak_live 2 floor((p + 2)/2) on every rank, half of 1F1B's 2p
// and a little. Every further microbatch costs no bubble iff W + 2F >= 2I and W + 2I >= 2F.

#include "schedules/building_block.hpp"
#include "schedules/closed_form.hpp"
#include "schedules/placements.hpp"
#include "schedules/registry.hpp"

namespace pipeloom::schedules {
namespace {

BuildingBlock block(int p) {
  BuildingBlock block;
  const int turn = p % 2 == 0 ? 3 : 0;
  for (int r = 0; r < p; ++r)
    block.slots.push_back({2 * r, 3 * p - 2 - r, 3 * p - 1 + turn + 2 * r, 6 * p - 2 + turn - r});
  return block;
}

Schedule emit(const Params& params, const std::function<bool(double)>& progress) {
  return emit_block(block(params.ranks), params.microbatches, progress);
}

std::vector<ClosedForm> closed_forms() {
  return {
      time_form("makespan", "(6m + 3p - 7) F for even p, (6m + 3p - 4) F for odd p",
                "equal stages, no transfers, F = I = W, m >= 2p - 1, p >= 3",
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  const std::int64_t p = params.ranks;
                  const std::int64_t m = params.microbatches;
                  if (m < 2 * p - 1 || p < 3 || !equal_passes(costs)) return std::nullopt;
                  return (6 * m + 3 * p - (p % 2 == 0 ? 7 : 4)) * costs.forward;
                }),
      order_form("peak_live", "2 floor((p + 2)/2) chunk passes", "m >= 2p - 1",
                 [](const Params& params, Rank) -> Value {
                   if (params.microbatches < 2 * params.ranks - 1) return std::nullopt;
                   return 2 * ((params.ranks + 2) / 2);
                 }),
  };
}

}  // namespace

Generator v_half() {
  return {
      .name = "v-half",
      .aliases = {},
      .summary = "half the activations of 1f1b on a V, about half its idle time",
      .source = "Qi et al. 2024, Pipeline Parallelism with Controllable Memory, arXiv 2405.15362, section 3",
      .when_to_use =
          "Memory is short and F, I and W are alike: two chunks per rank need half of 1f1b's activations, "
          "the same on every rank. Twice the transfers. Unequal F and I leave idle time in every microbatch.",
      .requirements = split_v_requirements(),
      .closed_forms = closed_forms(),
      .placement = v_placement,
      .emit = whatever_the_costs(emit),
      .period = repeats_every(1),
  };
}

}  // namespace pipeloom::schedules
