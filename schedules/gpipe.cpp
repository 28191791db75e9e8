// GPipe: all forwards, then all backwards.
//
// Source: Huang et al., "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism"
// (2018), section 2.2; backwards in microbatch order, as in PyTorch's ScheduleGPipe.
//
// p = 4, m = 8; F takes one column (two characters), B two:
//
//   rank 0  F0F1F2F3F4F5F6F7                  B0--B1--B2--B3--B4--B5--B6--B7--
//   rank 1    F0F1F2F3F4F5F6F7            B0--B1--B2--B3--B4--B5--B6--B7--
//   rank 2      F0F1F2F3F4F5F6F7      B0--B1--B2--B3--B4--B5--B6--B7--
//   rank 3        F0F1F2F3F4F5F6F7B0--B1--B2--B3--B4--B5--B6--B7--
//
// Requires: nothing; any p, m.
//
// Closed forms, equal stages, no transfers: makespan (m + p - 1)(F + B), idle (p - 1)(F + B), peak_live m on
// every rank.

#include "schedules/closed_form.hpp"
#include "schedules/queue_builder.hpp"
#include "schedules/registry.hpp"

namespace pipeloom::schedules {
namespace {

Schedule emit(const Params& params) {
  const int p = params.ranks;
  const int m = params.microbatches;

  ScheduleBuilder out(Placement::linear(p), m);
  out.reserve(op_count(p, m, 2));
  for (int r = 0; r < p; ++r) {
    out.begin_rank(Rank(r));
    const Stage s(r);
    // 1. F0 .. F(m-1)                                      m forwards
    for (int k = 0; k < m; ++k) out.add(forward(s, Microbatch(k)));
    // 2. B0 .. B(m-1)                                      m backwards
    for (int k = 0; k < m; ++k) out.add(backward(s, Microbatch(k)));
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
      order_form("peak_live", "m", "",
                 [](const Params& params, Rank) -> Value { return params.microbatches; }),
  };
}

}  // namespace

Generator gpipe() {
  return {
      .name = "gpipe",
      .aliases = {{.name = "GPipe", .dialect = "PyTorch"},
                  {.name = "afab", .dialect = "Llama 3"},
                  {.name = "all-forward-all-backward", .dialect = "Llama 3"}},
      .summary = "all forwards, then all backwards",
      .source = "Huang et al. 2018, GPipe, arXiv 1811.06965, section 2.2",
      .when_to_use =
          "The baseline. As fast as 1f1b, but every rank holds the activations of all m microbatches.",
      .requirements = {.text = "any ranks, any microbatches"},
      .closed_forms = closed_forms(),
      .emit = emit,
  };
}

}  // namespace pipeloom::schedules
