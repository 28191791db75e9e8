// 1F1B-V: 1F1B on a V, with whole backwards, at two thirds of its memory.
//
// Source: Qi et al., "Pipeline Parallelism with Controllable Memory" (2024, arXiv 2405.15362), section 3; the
// order is that of the authors' program, pass for pass (building_block.hpp has the steps).
//
// p = 4, m = 8; F takes one column (two characters), B two; small letters are chunk 1, stage 2p-1-r:
//
//   rank 0  F0F1F2F3F4    f0b0--f1b1--f2b2--            f3b3--B0--F5f4b4--B1--F6f5b5--B2--F7f6b6--B3--  f7b7--B4--    B5--    B6--    B7--
//   rank 1    F0F1F2F3  f0  f1  b0--f2b1--F4b2--      f3B0--  b3--f4F5B1--b4--f5F6B2--b5--f6F7B3--b6--f7B4--  b7--B5--    B6--    B7--
//   rank 2      F0F1F2f0  f1  f2    b0--F3b1--F4B0--f3b2--  B1--f4b3--F5B2--f5b4--F6B3--f6b5--F7B4--f7b6--  B5--  b7--B6--    B7--
//   rank 3        F0f0F1f1F2f2          b0--B0--F3f3b1--B1--F4f4b2--B2--F5f5b3--B3--F6f6b4--B4--F7f7b5--B5--b6--B6--  b7--B7--
//
// Building block, slots of microbatch 0: F goes up and f comes down the ranks at one slot each, then b goes up and B
// comes down at two slots each, with a pause of three slots after every three so that no two passes of a
// rank meet modulo 6. All passes then move to the earliest slot that memory allows.
//
// Requires: nothing; any p, m.
//
// Closed forms, F and B per chunk pass, equal stages, no transfers: makespan (6m + 5p - 5) F for p mod 3 = 1, (6m + 5p
// - 7) F for p mod 3 = 2, if B = 2F, m >= p and p is not 2; peak_live 2 floor((2p + 3)/3) on every rank, m >= 2p - 1.

#include "schedules/building_block.hpp"
#include "schedules/closed_form.hpp"
#include "schedules/placements.hpp"
#include "schedules/registry.hpp"

namespace pipeloom::schedules {
namespace {

BuildingBlock block(int p) {
  BuildingBlock block{.slots = std::vector<std::array<int, 4>>(static_cast<std::size_t>(p)),
                      .backward = BlockBackward::Whole};
  int slot = 0;
  // 1. F up, then f down                                   without a pause
  for (int r = 0; r < p; ++r) block.slots[static_cast<std::size_t>(r)][0] = slot++;
  for (int r = p - 1; r >= 0; --r) block.slots[static_cast<std::size_t>(r)][1] = slot++;
  // 2. b up, then B down                                   two slots each; after three a pause of three
  if (p % 3 == 0) slot += 3;
  int in_row = (2 * p + 1) % 3;
  const auto next = [&] {
    const int own = slot;
    slot += 2;
    in_row = (in_row + 1) % 3;
    if (in_row == 0) slot += 3;
    return own;
  };
  for (int r = 0; r < p; ++r) block.slots[static_cast<std::size_t>(r)][2] = next();
  for (int r = p - 1; r >= 0; --r) block.slots[static_cast<std::size_t>(r)][3] = next();
  return block;
}

Schedule emit(const Params& params, const std::function<bool(double)>& progress) {
  return emit_block(block(params.ranks), params.microbatches, progress);
}

std::vector<ClosedForm> closed_forms() {
  return {
      time_form("makespan", "(6m + 5p - 5) F if p mod 3 = 1, (6m + 5p - 7) F if p mod 3 = 2",
                "equal stages, no transfers, B = 2F, m >= p, p >= 4 or p = 1, p mod 3 not 0",
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  const std::int64_t p = params.ranks;
                  const std::int64_t m = params.microbatches;
                  if (m < p || p % 3 == 0 || p == 2 || costs.backward != 2 * costs.forward)
                    return std::nullopt;
                  return (6 * m + 5 * p - (p % 3 == 1 ? 5 : 7)) * costs.forward;
                }),
      order_form("peak_live", "2 floor((2p + 3)/3) chunk passes", "m >= 2p - 1",
                 [](const Params& params, Rank) -> Value {
                   if (params.microbatches < 2 * params.ranks - 1) return std::nullopt;
                   return 2 * ((2 * params.ranks + 3) / 3);
                 }),
  };
}

}  // namespace

Generator one_f_one_b_v() {
  return {
      .name = "1f1b-v",
      .aliases = {{.name = "v1f1b", .dialect = "zero-bubble"}},
      .summary = "1f1b on a V: two thirds of its activations, the same on every rank",
      .source = "Qi et al. 2024, Pipeline Parallelism with Controllable Memory, arXiv 2405.15362, section 3",
      .when_to_use =
          "A backward that cannot be split and less memory than 1f1b's: two thirds of it, and a sixth less "
          "idle time, for twice the transfers.",
      .requirements = {.min_chunks = 2,
                       .max_chunks = 2,
                       .default_chunks = 2,
                       .text = "any ranks, any microbatches, chunks = 2"},
      .closed_forms = closed_forms(),
      .placement = v_placement,
      .emit = whatever_the_costs(emit),
      .period = repeats_every(1),
  };
}

}  // namespace pipeloom::schedules
