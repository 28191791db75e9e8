// Seq1F1B: 1F1B over slices of sequences instead of whole microbatches; n slices fill the pipeline n times
// sooner and hold an n-th of the activations each.
//
// Source: Sun et al., "Seq1F1B: Efficient Sequence-Level Pipeline Parallelism for Large Language Model
// Training" (2024, arXiv 2406.03488), section 3. TeraPipe (arXiv 2102.07988) cuts sequences the same way, but
// runs all forwards first.
//
// p = 4, m = 8, n = 2; F takes one column (two characters), B two; small letters are slice 1:
//
//   rank 0  F0f0F1f1F2            b0--f2B0--F3b1--f3B1--F4b2--f4B2--F5b3--f5B3--F6b4--f6B4--F7b5--f7B5--  b6--  B6--  b7--B7--
//   rank 1    F0f0F1f1        b0--F2B0--f2b1--F3B1--f3b2--F4B2--f4b3--F5B3--f5b4--F6B4--f6b5--F7B5--f7b6--  B6--  b7--B7--
//   rank 2      F0f0F1    b0--f1B0--F2b1--f2B1--F3b2--f3B2--F4b3--f4B3--F5b4--f5B4--F6b5--f6B5--F7b6--f7B6--  b7--B7--
//   rank 3        F0f0b0--F1B0--f1b1--F2B1--f2b2--F3B2--f3b3--F4B3--f4b4--F5B4--f5b5--F6B5--f6b6--F7B6--f7b7--B7--
//
// Forwards go through the slices of a microbatch in order, because a slice attends to the keys and values of
// those before it; backwards in reverse, because it passes gradients on to them. So the first backward of a
// rank is of the last slice of microbatch 0, and n - 1 more forwards come before it than in 1F1B.
//
// Requires: nothing; any p, m, n. n = 1 is 1f1b. Under causal attention later slices cost more: options.slices may be a
// list of weights.
//
// Closed forms, equal stages and slices, no transfers, F and B per slice: makespan (m n + p - 1)(F + B), idle
// (p - 1)(F + B), bubble_overhead (p - 1)/(m n); peak_live min(m n, p - r + n - 1) slices.

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
  const int n = params.slices();
  const auto pass = [n](Op op, int slice) {
    if (n > 1) op = op.with_slice(slice);
    return op;
  };

  ScheduleBuilder out(linear_placement(params), m, {}, n);
  out.reserve(op_count(p, m * n, 2));
  for (int r = 0; r < p; ++r) {
    out.begin_rank(Rank(r));
    const Stage s(r);
    const auto add_forward = [&](int unit) { out.add(pass(forward(s, Microbatch(unit / n)), unit % n)); };
    const auto add_backward = [&](int unit) {
      out.add(pass(backward(s, Microbatch(unit / n)), n - 1 - unit % n));
    };
    const int warmup = std::min(m * n, p - 1 - r + n - 1);
    // 1. F of units 0, 1, ..                               warmup forwards; unit t is slice t mod n of t div n
    for (int t = 0; t < warmup; ++t) add_forward(t);
    // 2. F of unit t+warmup, B of unit t                   m n - warmup pairs; B takes slice n-1 - t mod n
    for (int t = 0; t < m * n - warmup; ++t) {
      add_forward(t + warmup);
      add_backward(t);
    }
    // 3. B of units .., m n - 1                            warmup backwards
    for (int t = m * n - warmup; t < m * n; ++t) add_backward(t);
  }
  return std::move(out).build();
}

std::vector<ClosedForm> closed_forms() {
  const std::string condition = "equal stages and slices, no transfers, F and B per slice";
  return {
      time_form("makespan", "(m n + p - 1)(F + B)", condition,
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  const std::int64_t units = std::int64_t{params.microbatches} * params.slices();
                  return (units + params.ranks - 1) * (costs.forward + costs.backward);
                }),
      time_form("idle", "(p - 1)(F + B), so that bubble_overhead = (p - 1)/(m n)", condition,
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  return (params.ranks - 1) * (costs.forward + costs.backward);
                }),
      order_form("peak_live", "min(m n, p - r + n - 1) slices", "",
                 [](const Params& params, Rank rank) -> Value {
                   const int n = params.slices();
                   return std::min(params.microbatches * n, params.ranks - rank.value() + n - 1);
                 }),
  };
}

}  // namespace

Generator seq_1f1b() {
  return {
      .name = "seq-1f1b",
      .aliases = {{.name = "seq1f1b", .dialect = "Megatron-LM"}},
      .summary = "1f1b over slices of sequences: an n-th of the idle time and of the activations",
      .source = "Sun et al. 2024, Seq1F1B, arXiv 2406.03488, section 3",
      .when_to_use =
          "Long sequences and few microbatches. options.slices is n, or one weight per slice where causal "
          "attention "
          "makes later ones longer. Each slice waits for the one before it.",
      .requirements = {.takes = {Option::Slices},
                       .default_slices = 2,
                       .text = "any ranks, any microbatches, any slices"},
      .closed_forms = closed_forms(),
      .placement = linear_placement,
      .emit = whatever_the_costs(emit),
      .period = repeats_every(1),
  };
}

}  // namespace pipeloom::schedules
