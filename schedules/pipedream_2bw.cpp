// PipeDream-2BW: 1F1B that never flushes. The optimizer updates after every m microbatches while the next ones
// already run with the weights before the update, so each rank holds two versions of its weights.
//
// Source: Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training" (2020, arXiv 2006.09503),
// section 3.1.
//
// p = 4, m = 4, u = 2 updates: microbatches 0 to 3, then 4 to 7. F takes one column (two characters), B two:
//
//   rank 0  F0F1F2F3            B0--F4B1--F5B2--F6B3--F7B4--  B5--  B6--  B7--
//   rank 1    F0F1F2        B0--F3B1--F4B2--F5B3--F6B4--F7B5--  B6--  B7--
//   rank 2      F0F1    B0--F2B1--F3B2--F4B3--F5B4--F6B5--F7B6--  B7--
//   rank 3        F0B0--F1B1--F2B2--F3B3--F4B4--F5B5--F6B6--F7B7--
//
// The model: u updates as one run of m u microbatches in the order of 1F1B, microbatch k belonging to
// update k div m. Filling and draining happen once per run, not once per update. A rank updates after its backward
// of the last microbatch of an update; that takes no time of its own (step.optimizer is paid once, at the end). The second version of the weights
// is the user's to add to memory.static_bytes.
//
// Requires: m >= p, so that no more than two versions are in use at once: when a rank runs the forward of the
// first microbatch of update i + 2, update i is done.
//
// Closed forms, equal stages, no transfers: makespan (m u + p - 1)(F + B), idle (p - 1)(F + B), bubble_overhead
// (p - 1)/(m u); peak_live p - r.

#include "schedules/closed_form.hpp"
#include "schedules/placements.hpp"
#include "schedules/queue_builder.hpp"
#include "schedules/registry.hpp"

namespace pipeloom::schedules {
namespace {

Schedule emit(const Params& params) {
  const int p = params.ranks;
  const int all = params.microbatches * params.updates();

  ScheduleBuilder out(linear_placement(params), all);
  out.reserve(op_count(p, all, 2));
  for (int r = 0; r < p; ++r) {
    out.begin_rank(Rank(r));
    const Stage s(r);
    const int warmup = p - 1 - r;
    // 1. F0 F1 ..                                          warmup forwards
    for (int k = 0; k < warmup; ++k) out.add(forward(s, Microbatch(k)));
    // 2. F(k+warmup) B(k)                                  m u - warmup pairs, across all updates
    for (int k = 0; k < all - warmup; ++k) {
      out.add(forward(s, Microbatch(k + warmup)));
      out.add(backward(s, Microbatch(k)));
    }
    // 3. .. B(m u - 1)                                     warmup backwards
    for (int k = all - warmup; k < all; ++k) out.add(backward(s, Microbatch(k)));
  }
  return std::move(out).build();
}

std::vector<ClosedForm> closed_forms() {
  return {
      time_form("makespan", "(m u + p - 1)(F + B)", "equal stages, no transfers",
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  const std::int64_t passes = std::int64_t{params.microbatches} * params.updates();
                  return (passes + params.ranks - 1) * (costs.forward + costs.backward);
                }),
      time_form("idle", "(p - 1)(F + B), so that bubble_overhead = (p - 1)/(m u)",
                "equal stages, no transfers",
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  return (params.ranks - 1) * (costs.forward + costs.backward);
                }),
      order_form("peak_live", "p - r", "",
                 [](const Params& params, Rank rank) -> Value { return params.ranks - rank.value(); }),
  };
}

}  // namespace

Generator pipedream_2bw() {
  return {
      .name = "pipedream-2bw",
      .aliases = {{.name = "1f1b-async", .dialect = "asynchronous 1F1B"}},
      .summary = "1f1b without a flush between updates: idle time once per run, two versions of the weights",
      .source = "Narayanan et al. 2020, PipeDream-2BW, arXiv 2006.09503, section 3.1",
      .when_to_use =
          "Where gradients of weights one update old are acceptable. options.updates is how many updates the "
          "run shows, "
          "microbatches is per update. Add the second copy of the weights to memory.static_bytes.",
      .requirements = {.min_microbatches_per_rank = 1,
                       .min_microbatches_offset = 0,
                       .takes = {Option::Updates},
                       .default_updates = 4,
                       .text = "microbatches (per update) >= ranks"},
      .closed_forms = closed_forms(),
      .placement = linear_placement,
      .emit = whatever_the_costs(emit),
      .period = repeats_every(1),
  };
}

}  // namespace pipeloom::schedules
