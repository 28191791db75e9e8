// 1F1B: after a short warm-up each rank alternates one forward and one backward.
//
// Source: PipeDream-Flush, Narayanan et al. 2020 (arXiv 2006.09503); DAPPLE, Fan et al. 2020 (arXiv
// 2007.01045); the order of Megatron-LM's non-interleaved schedule.
//
// p = 4, m = 8; F takes one column (two characters), B two:
//
//   rank 0  F0F1F2F3            B0--F4B1--F5B2--F6B3--F7B4--  B5--  B6--  B7--
//   rank 1    F0F1F2        B0--F3B1--F4B2--F5B3--F6B4--F7B5--  B6--  B7--
//   rank 2      F0F1    B0--F2B1--F3B2--F4B3--F5B4--F6B5--F7B6--  B7--
//   rank 3        F0B0--F1B1--F2B2--F3B3--F4B4--F5B5--F6B6--F7B7--
//
// Requires: nothing; any p, m. The warm-up of rank r, p - 1 - r forwards, is clipped to m.
//
// Closed forms, equal stages, no transfers: makespan (m + p - 1)(F + B), idle (p - 1)(F + B); peak_live
// min(m, p - r).

#include <algorithm>

#include "schedules/closed_form.hpp"
#include "schedules/placements.hpp"
#include "schedules/queue_builder.hpp"
#include "schedules/registry.hpp"
#include "schedules/stack_rules.hpp"
#include "sim/messages/message_plans.hpp"

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
    const int warmup = std::min(m, p - 1 - r);
    // 1. F0 F1 ..                                          warmup forwards
    for (int k = 0; k < warmup; ++k) out.add(forward(s, Microbatch(k)));
    // 2. F(k+warmup) B(k)                                  m - warmup pairs
    for (int k = 0; k < m - warmup; ++k) {
      out.add(forward(s, Microbatch(k + warmup)));
      out.add(backward(s, Microbatch(k)));
    }
    // 3. .. B(m-1)                                         warmup backwards
    for (int k = m - warmup; k < m; ++k) out.add(backward(s, Microbatch(k)));
  }
  return std::move(out).build();
}

std::vector<ClosedForm> closed_forms() {
  return {
      time_form("makespan", "(m + p - 1)(F + B)", "equal stages, no transfers",
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  const std::int64_t slots = params.microbatches + params.ranks - 1;
                  return slots * (costs.forward + costs.backward);
                }),
      time_form("idle", "(p - 1)(F + B), so that bubble_overhead = (p - 1)/m", "equal stages, no transfers",
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  return (params.ranks - 1) * (costs.forward + costs.backward);
                }),
      order_form("peak_live", "min(m, p - r)", "",
                 [](const Params& params, Rank rank) -> Value {
                   return std::min(params.microbatches, params.ranks - rank.value());
                 }),
  };
}

}  // namespace

Generator one_f_one_b() {
  return {
      .name = "1f1b",
      .aliases = {{.name = "1F1B", .dialect = "PyTorch"},
                  {.name = "PipelineParallel", .dialect = "Paddle"},
                  alias("paddle-1f1b",
                        {.stack = "Paddle's static graph", .least_per_rank = 1, .least_more = 0}),
                  alias("OneForwardOneBackward",
                        {.stack = "ColossalAI", .least_per_rank = 1, .least_more = 0}),
                  {.name = "TrainSchedule", .dialect = "DeepSpeed"},
                  {.name = "PipelineScheduler", .dialect = "InternEvo"},
                  {.name = "pipedream_flush_forward_backward", .dialect = "Galvatron"},
                  {.name = "Std1F1B", .dialect = "jaxpp"},
                  {.name = "sched_1f1b", .dialect = "nnscaler"}},
      .summary = "a short warm-up, then one forward, one backward",
      .source = "PipeDream-Flush, Narayanan et al. 2020, arXiv 2006.09503; DAPPLE, arXiv 2007.01045",
      .when_to_use =
          "The default of most trainers: gpipe's time with at most p microbatches in flight. Wants m well "
          "above p.",
      .requirements = {.text = "any ranks, any microbatches"},
      .closed_forms = closed_forms(),
      .placement = linear_placement,
      .emit = whatever_the_costs(emit),
      .messages = blocking_only(megatron_1f1b_blocking),
      .period = repeats_every(1),
  };
}

}  // namespace pipeloom::schedules
