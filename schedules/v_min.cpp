// V-Min: the V schedule with split backward that holds least, a third of what 1F1B holds.
//
// Source: Qi et al., "Pipeline Parallelism with Controllable Memory" (2024, arXiv 2405.15362), section 3 and table 8; the
// order is that of the authors' program, pass for pass (building_block.hpp has the steps).
//
// p = 4, m = 8; F takes one column (two characters), i and w too; small letters are chunk 1, stage 2p-1-r:
//
//   rank 0  F0F1F2        f0i0w0f1i1w1    I0W0F3  f2i2I1w2W1F4f3i3I2w3W2F5f4i4I3w4W3F6f5i5I4w5W4F7f6i6I5w6W5  f7i7I6w7W6      I7W7
//   rank 1    F0F1      f0  f1i0w0F2    I0i1w1W0f2F3I1i2w2W1f3F4I2i3w3W2f4F5I3i4w4W3f5F6I4i5w5W4f6F7I5i6w6W5f7  I6i7w7W6    I7W7
//   rank 2      F0F1  f0  f1    i0w0F2I0W0  i1f2w1I1F3W1i2f3w2I2F4W2i3f4w3I3F5W3i4f5w4I4F6W4i5f6w5I5F7W5i6f7w6I6W6  i7w7  I7W7
//   rank 3        F0f0F1f1        i0I0w0W0F2f2i1I1w1W1F3f3i2I2w2W2F4f4i3I3w3W3F5f5i4I4w4W4F6f6i5I5w5W5F7f7i6I6w6W6    i7I7w7W7
//
// Building block, slots of microbatch 0 on rank r: F at r, f at 2p-1-r, i at 2p+x+r, I at 4p-1+x-r, with x = 2 if 3
// divides p, else 0. Everything goes from rank to rank without a pause; so lifespans are as short as they can
// be, and any F longer than I (or I than F) shows in every microbatch.
//
// Requires: nothing; any p, m. With m < 2p - 1 the pipeline never fills and less is gained.
//
// Closed forms, F, I, W per chunk pass, equal stages, no transfers, m >= 2p - 1: makespan (6m + 4p - 5) F if F = I
// = W, (6m + 4p - 7) F if 3 divides p, p >= 2; peak_live 2 floor((p + 4)/3), one less on rank 0 if p mod 3 = 2. A
// further microbatch costs max(2(F + I + W), 6 max(F, I)).

#include "schedules/building_block.hpp"
#include "schedules/closed_form.hpp"
#include "schedules/placements.hpp"
#include "schedules/registry.hpp"

namespace pipeloom::schedules {
namespace {

BuildingBlock block(int p) {
  BuildingBlock block;
  const int turn = p % 3 == 0 ? 2 : 0;
  for (int r = 0; r < p; ++r)
    block.slots.push_back({r, 2 * p - 1 - r, 2 * p + turn + r, 4 * p - 1 + turn - r});
  return block;
}

Schedule emit(const Params& params, const std::function<bool(double)>& progress) {
  return emit_block(block(params.ranks), params.microbatches, progress);
}

std::vector<ClosedForm> closed_forms() {
  return {
      time_form("makespan", "(6m + 4p - 5) F, (6m + 4p - 7) F if 3 divides p",
                "equal stages, no transfers, F = I = W, m >= 2p - 1, p >= 2",
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  const std::int64_t p = params.ranks;
                  const std::int64_t m = params.microbatches;
                  if (m < 2 * p - 1 || p < 2 || !equal_passes(costs)) return std::nullopt;
                  return (6 * m + 4 * p - (p % 3 == 0 ? 7 : 5)) * costs.forward;
                }),
      order_form("peak_live", "2 floor((p + 4)/3), one less on rank 0 if p mod 3 = 2", "m >= 2p - 1",
                 [](const Params& params, Rank rank) -> Value {
                   if (params.microbatches < 2 * params.ranks - 1) return std::nullopt;
                   return 2 * ((params.ranks + 4) / 3) - (rank == Rank(0) && params.ranks % 3 == 2 ? 1 : 0);
                 }),
  };
}

}  // namespace

Generator v_min() {
  return {
      .name = "v-min",
      .aliases = {},
      .summary = "a third of the activations of 1f1b on a V, about two thirds of its idle time",
      .source = "Qi et al. 2024, Pipeline Parallelism with Controllable Memory, arXiv 2405.15362, section 3",
      .when_to_use =
          "Nothing else fits: two chunks per rank need a third of 1f1b's activations. Only where F and I "
          "take the same time; otherwise every microbatch leaves idle time.",
      .requirements = split_v_requirements(),
      .closed_forms = closed_forms(),
      .placement = v_placement,
      .emit = whatever_the_costs(emit),
      .period = repeats_every(1),
  };
}

}  // namespace pipeloom::schedules
