// 1F1B with overlapped pairs: twice the warm-up makes the forward and the backward of a steady step
// independent of each other, so that both run at once and each hides the other's communication.
//
// Source: PP-Schedule-Visualization, strategy 1f1b_overlap; the one-chunk case of Megatron-LM's combined 1F1B
// (overlap_moe_expert_parallel_comm).
//
// p = 4, m = 8; F takes one column (two characters), B two, a pair F/B three:
//
//   rank 0  F0F1F2F3F4F5F6            F7/B0-B1--  B2--B3--  B4--B5--  B6--B7--
//   rank 1    F0F1F2F3F4        F5/B0-F6/B1-F7/B2-B3--  B4--B5--  B6--B7--
//   rank 2      F0F1F2    F3/B0-F4/B1-F5/B2-F6/B3-F7/B4-B5--  B6--B7--
//   rank 3        F0F1/B0-F2/B1-F3/B2-F4/B3-F5/B4-F6/B5-F7/B6-B7--
//
// Requires: nothing; any p, m. The warm-up of rank r, 2(p - 1 - r) + 1 forwards, is clipped to m.
//
// Closed forms, equal stages, no transfers, X >= max(F, B) the time of a pair: makespan
// p(F + B) + (m - 1) X if X <= F + B; peak_live min(m, 2(p - r)).

#include <algorithm>

#include "schedules/closed_form.hpp"
#include "schedules/placements.hpp"
#include "schedules/queue_builder.hpp"
#include "schedules/registry.hpp"

namespace pipeloom::schedules {
namespace {

Schedule emit(const Params& params) {
  const int p = params.ranks;
  const int m = params.microbatches;

  ScheduleBuilder out(linear_placement(params), m);
  out.reserve(op_count(p, m, 2));
  for (int r = 0; r < p; ++r) {
    out.begin_rank(Rank(r));
    const Stage s(r);
    const int warmup = std::min(m, 2 * (p - 1 - r) + 1);
    // 1. F0 F1 ..                                          warmup forwards
    for (int k = 0; k < warmup; ++k) out.add(forward(s, Microbatch(k)));
    // 2. (F(k+warmup);B(k))                                m - warmup overlapped pairs
    for (int k = 0; k < m - warmup; ++k)
      out.add_pair(forward(s, Microbatch(k + warmup)), backward(s, Microbatch(k)));
    // 3. .. B(m-1)                                         warmup backwards
    for (int k = m - warmup; k < m; ++k) out.add(backward(s, Microbatch(k)));
  }
  return std::move(out).build();
}

std::vector<ClosedForm> closed_forms() {
  return {
      time_form("makespan", "p(F + B) + (m - 1) X", "equal stages, no transfers, max(F, B) <= X <= F + B",
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  const std::int64_t p = params.ranks;
                  const std::int64_t m = params.microbatches;
                  const auto pair = pair_duration(costs);
                  if (!pair || *pair > costs.forward + costs.backward) return std::nullopt;
                  return p * (costs.forward + costs.backward) + (m - 1) * *pair;
                }),
      order_form("peak_live", "min(m, 2(p - r))", "",
                 [](const Params& params, Rank rank) -> Value {
                   return std::min(params.microbatches, 2 * (params.ranks - rank.value()));
                 }),
  };
}

}  // namespace

Generator one_f_one_b_overlap() {
  return {
      .name = "1f1b-overlap",
      .aliases = {{.name = "1f1b_overlap", .dialect = "PP-Schedule-Visualization"}},
      .summary = "1f1b whose steady forward and backward run as one overlapped pair",
      .source = "PP-Schedule-Visualization, strategy 1f1b_overlap",
      .when_to_use =
          "Expert parallelism with all-to-all in every layer: worth it when a pair takes clearly less than F "
          "+ B. Holds "
          "twice the activations of 1f1b.",
      .requirements = {.overlaps = true, .text = "any ranks, any microbatches"},
      .closed_forms = closed_forms(),
      .placement = linear_placement,
      .emit = whatever_the_costs(emit),
      .period = repeats_every(1),
  };
}

}  // namespace pipeloom::schedules
