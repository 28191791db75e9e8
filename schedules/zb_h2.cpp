// ZB-H2: zero bubble with the backward split in two and nearly twice 1F1B's memory; where F + I <= 2W, no rank idles
// between its first and its last op.
//
// Source: Qi et al., "Zero Bubble Pipeline Parallelism" (2023, arXiv 2401.10241), figure 3, bottom. The paper
// writes B for our I.
//
// p = 4, m = 8; F takes one column (two characters), I and W too:
//
//   rank 0  F0F1F2F3F4F5F6I0W0F7I1W1I2W2I3W3I4W4I5W5I6W6I7W7
//   rank 1    F0F1F2F3F4I0F5I1F6I2W0F7I3W1I4W2I5W3I6W4I7W5W6W7
//   rank 2      F0F1F2I0F3I1F4I2F5I3F6I4W0F7I5W1I6W2I7W3W4W5W6W7
//   rank 3        F0I0F1I1F2I2F3I3F4I4F5I5F6I6W0F7I7W1W2W3W4W5W6W7
//
// Requires: nothing; any p, m. The first min(m, 2(p - r) - 1) forwards are the warm-up; the figure and the closed
// forms want m >= 2p - 1.
//
// Closed forms, equal stages, no transfers, m >= 2p - 1, W <= F: max_window m(F + I + W) + max(0, (p - 1)(F + I -
// 2W)); makespan m(F + I + W) + (p - 1)(F + max(0, I - 2W)) if also W <= I, since the last rank starts (p - 1)F
// late; peak_live min(m, 2p - 1) on every rank.

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
  out.reserve(op_count(p, m, 3));
  for (int r = 0; r < p; ++r) {
    out.begin_rank(Rank(r));
    const Stage s(r);
    const int warmup = std::min(m, 2 * (p - r) - 1);
    const int delay = 2 * r;
    // 1. F0 F1 ..                                          warmup forwards
    for (int k = 0; k < warmup; ++k) out.add(forward(s, Microbatch(k)));
    // 2. I(k) W(k-2r) F(k+warmup), those that exist        m times; W comes 2r microbatches after its I
    for (int k = 0; k < m; ++k) {
      out.add(backward_input(s, Microbatch(k)));
      if (k >= delay) out.add(backward_weight(s, Microbatch(k - delay)));
      if (k + warmup < m) out.add(forward(s, Microbatch(k + warmup)));
    }
    // 3. .. W(m-1)                                         the min(m, 2r) left
    for (int k = std::max(0, m - delay); k < m; ++k) out.add(backward_weight(s, Microbatch(k)));
  }
  return std::move(out).build();
}

/// m(F + I + W), or nothing where the closed forms do not hold.
Value work(const Params& params, const UniformCosts& costs) {
  if (params.microbatches < 2 * params.ranks - 1 || costs.backward_weight > costs.forward)
    return std::nullopt;
  return params.microbatches * (costs.forward + costs.backward_input + costs.backward_weight);
}

Value window(const Params& params, const UniformCosts& costs, Rank) {
  const auto busy = work(params, costs);
  if (!busy) return std::nullopt;
  const Ticks per_rank = costs.forward + costs.backward_input - 2 * costs.backward_weight;
  return *busy + std::max<Ticks>(0, (params.ranks - 1) * per_rank);
}

Value makespan(const Params& params, const UniformCosts& costs, Rank) {
  const auto busy = work(params, costs);
  if (!busy || costs.backward_weight > costs.backward_input) return std::nullopt;
  const Ticks per_rank = costs.forward + std::max<Ticks>(0, costs.backward_input - 2 * costs.backward_weight);
  return *busy + (params.ranks - 1) * per_rank;
}

std::vector<ClosedForm> closed_forms() {
  const std::string condition = "equal stages, no transfers, m >= 2p - 1, W <= F";
  return {
      time_form("max_window", "m(F + I + W) + max(0, (p - 1)(F + I - 2W))", condition, window),
      time_form("makespan", "m(F + I + W) + (p - 1)(F + max(0, I - 2W))", condition + ", W <= I", makespan),
      order_form("peak_live", "min(m, 2p - 1)", "",
                 [](const Params& params, Rank) -> Value {
                   return std::min(params.microbatches, 2 * params.ranks - 1);
                 }),
  };
}

}  // namespace

Generator zb_h2() {
  return {
      .name = "zb-h2",
      .aliases = {},
      .summary = "zero bubble for nearly twice 1f1b's memory",
      .source = "Qi et al. 2023, Zero Bubble Pipeline Parallelism, arXiv 2401.10241, figure 3",
      .when_to_use =
          "Memory to spare, F, I and W about equal: ranks idle only while they wait for their first "
          "microbatch, and not even that if the optimizer step does not wait for all ranks. Wants m >= 2p - "
          "1.",
      .requirements = {.splits_backward = true, .text = "any ranks, any microbatches"},
      .closed_forms = closed_forms(),
      .placement = linear_placement,
      .emit = whatever_the_costs(emit),
      .period = repeats_every(1),
  };
}

}  // namespace pipeloom::schedules
