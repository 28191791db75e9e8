// Hanayo: the model in W waves down and up the ranks; more waves, smaller passes and less idle time.
//
// Source: Liu et al., "Hanayo: Harnessing Wave-like Pipeline Parallelism for Enhanced Large Model Training
// Efficiency" (2023, arXiv 2308.15762), section 3: a rank has a list of actions per wave. The order among
// them is played here (list_order.hpp) with B twice as long as F.
//
// p = 4, m = 8, W = 1; F takes one column (two characters), B two; small letters are chunk 1, stage 2p-1-r:
//
//   rank 0  F0F1F2F3F4F5F6f0b0--f1b1--f2b2--f3b3--f4b4--F7      B0--    B1--    B2--B3--B4--f5b5--f6b6--f7b7--                B5--    B6--B7--
//   rank 1    F0F1F2F3F4f0F5f1F6b0--f2b1--f3b2--f4b3--  b4--B0--F7  B1--    B2--B3--B4--f5f6f7    b5--  b6--  b7--        B5--    B6--B7--
//   rank 2      F0F1F2f0F3f1F4f2F5f3b0--f4b1--F6b2--B0--b3--b4--B1--F7  B2--B3--B4--f5f6  f7          b5--  b6--  b7--B5--    B6--B7--
//   rank 3        F0f0F1f1F2f2F3f3F4f4F5b0--B0--b1--b2--B1--b3--b4--B2--B3--B4--f5F6f6F7f7                b5--B5--b6--b7--B6--B7--
//
// Of the passes that are ready a free rank takes backwards first, and then
//
//   last-stage   the latest stage, of it the earliest microbatch
//   oldest       the earliest microbatch, of it the latest stage: as good for W = 1, better for more waves
//
// Requires: chunks = 2 W; any p, m. Idle time over all for p = m = 8, B = 2F: 37, 29 and 25 % for W = 1, 2, 4 with
// last-stage, 37, 24 and 14 % with oldest. In long runs a rank holds up to about 2p microbatches.
//
// Closed form, F and B per chunk pass, equal stages, no transfers, B = 2F, W = 1, m <= p: makespan (4m + 6p - 4) F.

#include <fmt/format.h>

#include "schedules/closed_form.hpp"
#include "schedules/list_order.hpp"
#include "schedules/placements.hpp"
#include "schedules/registry.hpp"

namespace pipeloom::schedules {
namespace {

ListKey last_stage(OpKind kind, int stage, int microbatch) {
  return list_key(kind == OpKind::Forward ? 1 : 0, -stage, microbatch);
}
ListKey oldest(OpKind kind, int stage, int microbatch) {
  return list_key(kind == OpKind::Forward ? 1 : 0, microbatch, -stage);
}

int waves_of(const Params& params) {
  return params.options.waves.value_or(1);
}

Schedule emit(const Params& params) {
  const ListRule rule = {.backward_slots = 2,
                         .key = params.options.variant == "oldest" ? oldest : last_stage};
  return list_order(wave_placement(params), params.microbatches, rule);
}

bool accepts(const Params& params) {
  return params.chunks == 2 * waves_of(params);
}

std::vector<ClosedForm> closed_forms() {
  return {
      time_form("makespan", "(4m + 6p - 4) F, F and B per chunk",
                "equal stages, no transfers, B = 2F, W = 1, m <= p",
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  const std::int64_t p = params.ranks;
                  const std::int64_t m = params.microbatches;
                  if (waves_of(params) > 1 || m > p || costs.backward != 2 * costs.forward)
                    return std::nullopt;
                  return (4 * m + 6 * p - 4) * costs.forward;
                }),
  };
}

}  // namespace

Generator hanayo() {
  return {
      .name = "hanayo",
      .aliases = {},
      .summary = "the model in waves down and up the ranks, two chunks per rank and wave",
      .source = "Liu et al. 2023, Hanayo, arXiv 2308.15762, section 3; played with B = 2F",
      .when_to_use =
          "About as many microbatches as ranks, fast links: more waves (options.waves, two chunks each) mean "
          "less idle "
          "time and more transfers, without a second copy of the model.",
      .requirements = {.min_chunks = 2,
                       .max_chunks = kMaxIndex,
                       .default_chunks = 2,
                       .chunks_text = "two per wave",
                       .takes = {Option::Waves},
                       .variants = {"last-stage", "oldest"},
                       .text = "any ranks, any microbatches, chunks = 2 waves"},
      .closed_forms = closed_forms(),
      .placement = wave_placement,
      .emit = whatever_the_costs(emit),
      .predicate =
          [](const Params& params) {
            return accepts(params) ? std::string()
                                   : fmt::format("has two chunks per wave, that is {} for waves = {}",
                                                 2 * waves_of(params), waves_of(params));
          },
      .accepts = accepts,
      .complete =
          [](Params& params, std::optional<int> chunks) {
            params.options.waves = params.options.waves.value_or(chunks.value_or(2) / 2);
            if (!chunks) params.chunks = 2 * waves_of(params);
          },
  };
}

}  // namespace pipeloom::schedules
