// Eager 1F1B: 1F1B with nearly twice the warm-up, so that a microbatch's forward is sent a round earlier than the
// next rank needs it and messages travel while ranks compute.
//
// Source: Zhuang et al., "On Optimizing the Communication of Model Parallelism" (2022, arXiv 2211.05322): Alpa's
// eager-1F1B; also in JaxPP and minPP.
//
// p = 4, m = 8; F takes one column (two characters), B two:
//
//   rank 0  F0F1F2F3F4F5F6      B0--F7B1--  B2--  B3--  B4--  B5--  B6--  B7--
//   rank 1    F0F1F2F3F4    B0--F5B1--F6B2--F7B3--  B4--  B5--  B6--  B7--
//   rank 2      F0F1F2  B0--F3B1--F4B2--F5B3--F6B4--F7B5--  B6--  B7--
//   rank 3        F0B0--F1B1--F2B2--F3B3--F4B4--F5B5--F6B6--F7B7--
//
// Requires: nothing; any p, m. The warm-up of rank r, 2(p - r) - 1 forwards, is clipped to m.
//
// Closed forms, equal stages, transfers of L <= (F + B)/2: makespan (m + p - 1)(F + B) + 2(p - 1)L, idle
// (p - 1)(F + B + 2L): the messages of filling and draining are all that is paid. peak_live min(m, 2(p - r) - 1).

#include <algorithm>

#include "schedules/closed_form.hpp"
#include "schedules/placements.hpp"
#include "schedules/queue_builder.hpp"
#include "schedules/registry.hpp"
#include "schedules/stack_rules.hpp"

namespace pipeloom::schedules {
namespace {

/// min(m, 2(p - r) - 1): forwards of rank r before its first backward, and the most that it holds.
int warmup_of(const Params& params, Rank rank) {
  return std::min(params.microbatches, 2 * (params.ranks - rank.value()) - 1);
}

Schedule emit(const Params& params) {
  const int p = params.ranks;
  const int m = params.microbatches;

  ScheduleBuilder out(linear_placement(params), m);
  out.reserve(op_count(p, m, 2));
  for (int r = 0; r < p; ++r) {
    out.begin_rank(Rank(r));
    const Stage s(r);
    const int warmup = warmup_of(params, Rank(r));
    // 1. F0 F1 ..                                          warmup forwards
    for (int k = 0; k < warmup; ++k) out.add(forward(s, Microbatch(k)));
    // 2. B(k) F(k+warmup)                                  m - warmup pairs
    for (int k = 0; k < m - warmup; ++k) {
      out.add(backward(s, Microbatch(k)));
      out.add(forward(s, Microbatch(k + warmup)));
    }
    // 3. .. B(m-1)                                         warmup backwards
    for (int k = m - warmup; k < m; ++k) out.add(backward(s, Microbatch(k)));
  }
  return std::move(out).build();
}

/// (p - 1)(F + B) + 2(p - 1) L: the idle time of a rank.
Value idle(const Params& params, const UniformCosts& costs, Rank) {
  const Ticks round = costs.forward + costs.backward;
  if (2 * costs.delay > round) return std::nullopt;
  return (params.ranks - 1) * (round + 2 * costs.delay);
}

Value makespan(const Params& params, const UniformCosts& costs, Rank rank) {
  const auto idle_time = idle(params, costs, rank);
  if (!idle_time) return std::nullopt;
  return params.microbatches * (costs.forward + costs.backward) + *idle_time;
}

std::vector<ClosedForm> closed_forms() {
  const std::string condition = "equal stages, transfers of L <= (F + B)/2";
  return {
      latency_form("makespan", "(m + p - 1)(F + B) + 2(p - 1) L", condition, makespan),
      latency_form("idle", "(p - 1)(F + B + 2L)", condition, idle),
      order_form("peak_live", "min(m, 2(p - r) - 1)", "",
                 [](const Params& params, Rank rank) -> Value { return warmup_of(params, rank); }),
  };
}

}  // namespace

Generator eager_1f1b() {
  return {
      .name = "eager-1f1b",
      .aliases = {{.name = "eager1f1b", .dialect = "minPP"},
                  alias("paddle-eager-1f1b",
                        {.stack = "Paddle's static graph", .least_per_rank = 2, .least_more = -1})},
      .summary = "1f1b with twice the warm-up, so that messages travel while ranks compute",
      .source = "Zhuang et al. 2022, On Optimizing the Communication of Model Parallelism, arXiv 2211.05322",
      .when_to_use =
          "Slow links between ranks and memory to spare: a message of up to half of F + B costs nothing but "
          "in filling and draining, where 1f1b pays for it in every round. The first rank holds 2p - 1 "
          "microbatches instead of p.",
      .requirements = {.text = "any ranks, any microbatches"},
      .closed_forms = closed_forms(),
      .placement = linear_placement,
      .emit = whatever_the_costs(emit),
      .period = repeats_every(1),
  };
}

}  // namespace pipeloom::schedules
