// ZB-H1: 1F1B with the backward split in two; the weight part W fills what was idle, at 1F1B's memory.
//
// Source: Qi et al., "Zero Bubble Pipeline Parallelism" (2023, arXiv 2401.10241), figure 3, top. The paper
// writes B for our I. PP-Schedule-Visualization calls it zb1p; at p microbatches of memory the paper's
// automatic scheduler ZB-1p arrives at the same times.
//
// p = 4, m = 8; F takes one column (two characters), I and W too:
//
//   rank 0  F0F1F2F3      I0W0F4I1W1F5I2W2F6I3W3F7I4W4I5W5I6W6I7W7
//   rank 1    F0F1F2    I0F3I1W0F4I2W1F5I3W2F6I4W3F7I5W4I6W5I7W6W7
//   rank 2      F0F1  I0F2I1F3I2W0F4I3W1F5I4W2F6I5W3F7I6W4I7W5W6W7
//   rank 3        F0I0F1I1F2I2F3I3W0F4I4W1F5I5W2F6I6W3F7I7W4W5W6W7
//
// Variant partial is Paddle's ZBH1, which splits the first r backwards of rank r and its last one, and runs their W's at the end,
// that of the last one first; what lies between stays whole:
//
//   rank 0  F0F1F2F3      B0--F4B1--F5B2--F6B3--F7B4--  B5--  B6--B7--
//   rank 1    F0F1F2    I0F3B1--F4B2--F5B3--F6B4--F7B5--  B6--I7W7W0
//   rank 2      F0F1  I0F2I1F3B2--F4B3--F5B4--F6B5--F7B6--I7W7W0W1
//   rank 3        F0I0F1I1F2I2F3B3--F4B4--F5B5--F6B6--F7I7W7W0W1W2
//
// Requires: nothing; any p, m. The first min(m, p - r) forwards are the warm-up.
//
// Closed forms, equal stages, no transfers, m >= p, W <= F: max_window m(F + I + W) + (p - 1)(F + I - W),
// which is the makespan too if W <= I; peak_live min(m, p) on every rank.

#include <algorithm>

#include "schedules/closed_form.hpp"
#include "schedules/placements.hpp"
#include "schedules/queue_builder.hpp"
#include "schedules/registry.hpp"
#include "schedules/stack_rules.hpp"

namespace pipeloom::schedules {
namespace {

bool is_partial(const Params& params) {
  return params.options.variant == "partial";
}

/// One rank of Paddle's ZBH1.
void add_partial(int r, const Params& params, ScheduleBuilder& out) {
  const int m = params.microbatches;
  const int warmup = std::min(m, params.ranks - 1 - r);
  const Stage s(r);
  // 1. F0 F1 ..                                            warmup forwards
  for (int k = 0; k < warmup; ++k) out.add(forward(s, Microbatch(k)));
  // 2. F(k+warmup), if there is one, then B, or I for the first r and the last; the last one's W follows it
  for (int k = 0; k < m; ++k) {
    const bool last = r > 0 && k == m - 1;
    if (k + warmup < m) out.add(forward(s, Microbatch(k + warmup)));
    out.add(k < r || last ? backward_input(s, Microbatch(k)) : backward(s, Microbatch(k)));
    if (last) out.add(backward_weight(s, Microbatch(k)));
  }
  // 3. W of the other I                                    min(m - 1, r)
  for (int k = 0; k < std::min(m - 1, r); ++k) out.add(backward_weight(s, Microbatch(k)));
}

Schedule emit(const Params& params) {
  const int p = params.ranks;
  const int m = params.microbatches;

  ScheduleBuilder out(linear_placement(params), m);
  out.reserve(op_count(p, m, 3));
  for (int r = 0; r < p; ++r) {
    out.begin_rank(Rank(r));
    if (is_partial(params)) {
      add_partial(r, params, out);
      continue;
    }
    const Stage s(r);
    const int warmup = std::min(m, p - r);
    // 1. F0 F1 ..                                          warmup forwards
    for (int k = 0; k < warmup; ++k) out.add(forward(s, Microbatch(k)));
    // 2. I(k) W(k-r) F(k+warmup), those that exist         m times; W comes r microbatches after its I
    for (int k = 0; k < m; ++k) {
      out.add(backward_input(s, Microbatch(k)));
      if (k >= r) out.add(backward_weight(s, Microbatch(k - r)));
      if (k + warmup < m) out.add(forward(s, Microbatch(k + warmup)));
    }
    // 3. .. W(m-1)                                         the min(m, r) left
    for (int k = std::max(0, m - r); k < m; ++k) out.add(backward_weight(s, Microbatch(k)));
  }
  return std::move(out).build();
}

/// m(F + I + W) + (p - 1)(F + I - W)
Value window(const Params& params, const UniformCosts& costs) {
  const std::int64_t p = params.ranks;
  const std::int64_t m = params.microbatches;
  const Ticks f = costs.forward;
  const Ticks i = costs.backward_input;
  const Ticks w = costs.backward_weight;
  if (m < p || w > f || is_partial(params)) return std::nullopt;
  return m * (f + i + w) + (p - 1) * (f + i - w);
}

std::vector<ClosedForm> closed_forms() {
  return {
      time_form("max_window", "m(F + I + W) + (p - 1)(F + I - W)",
                "equal stages, no transfers, m >= p, W <= F; not partial",
                [](const Params& params, const UniformCosts& costs, Rank) { return window(params, costs); }),
      time_form("makespan", "m(F + I + W) + (p - 1)(F + I - W)",
                "equal stages, no transfers, m >= p, W <= F, W <= I; not partial",
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  if (costs.backward_weight > costs.backward_input) return std::nullopt;
                  return window(params, costs);
                }),
      order_form(
          "peak_live", "min(m, p)", "",
          [](const Params& params, Rank) -> Value { return std::min(params.microbatches, params.ranks); }),
  };
}

}  // namespace

Generator zb_h1() {
  return {
      .name = "zb-h1",
      .aliases = {{.name = "zb1p", .dialect = "PP-Schedule-Visualization"},
                  {.name = "zb_h1", .dialect = "Qi et al."},
                  alias("ZBH1", {.stack = "Paddle's static graph",
                                 .least_per_rank = 1,
                                 .least_more = 0,
                                 .variant = "partial"}),
                  alias("jaxpp-zero-bubble", {.stack = "jaxpp", .least_per_rank = 1, .least_more = 0})},
      .summary = "1f1b with split backward: weight gradients fill a part of the idle time",
      .source = "Qi et al. 2023, Zero Bubble Pipeline Parallelism, arXiv 2401.10241, figure 3",
      .when_to_use =
          "Cuts 1f1b's idle time to about a third and never holds more than p microbatches. Needs a backward "
          "that can be "
          "split.",
      .requirements = {.splits_backward = true,
                       .variants = {"standard", "partial"},
                       .text = "any ranks, any microbatches"},
      .closed_forms = closed_forms(),
      .placement = linear_placement,
      .emit = whatever_the_costs(emit),
      .period = repeats_every(1),
  };
}

}  // namespace pipeloom::schedules
