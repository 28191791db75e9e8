// Looped BFS: chunk by chunk, each with all microbatches; backwards in the opposite order of everything.
//
// Source: Lamy-Poirier, "Breadth-First Pipeline Parallelism" (2022, arXiv 2211.05953), section 4; the order
// of PyTorch's ScheduleLoopedBFS.
//
// p = 2, m = 2, v = 2; F takes one column (two characters), B two; small letters are chunk 1:
//
//   rank 0  F0F1f0f1      b1--b0--B1--B0--
//   rank 1    F0F1f0f1b1--b0--B1--B0--
//
// Requires: nothing; any p, m, v.
//
// Closed forms, equal stages, no transfers, F and B per chunk pass: makespan (m v + p - 1)(F + B) if m >= p;
// peak_live m v.

#include "schedules/closed_form.hpp"
#include "schedules/queue_builder.hpp"
#include "schedules/registry.hpp"

namespace pipeloom::schedules {
namespace {

Schedule emit(const Params& params) {
  const int p = params.ranks;
  const int m = params.microbatches;
  const int v = params.chunks;

  ScheduleBuilder out(Placement::loop(p, v), m);
  out.reserve(op_count(p * v, m, 2));
  for (int r = 0; r < p; ++r) {
    out.begin_rank(Rank(r));
    // 1. F0 .. F(m-1) of chunk 0, then of chunk 1, ..      m v forwards
    for (int c = 0; c < v; ++c)
      for (int k = 0; k < m; ++k) out.add(forward(Stage(c * p + r), Microbatch(k)));
    // 2. B(m-1) .. B0 of chunk v-1, then of chunk v-2, ..  m v backwards
    for (int c = v - 1; c >= 0; --c)
      for (int k = m - 1; k >= 0; --k) out.add(backward(Stage(c * p + r), Microbatch(k)));
  }
  return std::move(out).build();
}

std::vector<ClosedForm> closed_forms() {
  return {
      time_form("makespan", "(m v + p - 1)(F + B), F and B per chunk", "equal stages, no transfers, m >= p",
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  if (params.microbatches < params.ranks) return std::nullopt;
                  const std::int64_t passes = std::int64_t{params.microbatches} * params.chunks;
                  return (passes + params.ranks - 1) * (costs.forward + costs.backward);
                }),
      order_form("peak_live", "m v", "",
                 [](const Params& params, Rank) -> Value {
                   return std::int64_t{params.microbatches} * params.chunks;
                 }),
  };
}

}  // namespace

Generator looped_bfs() {
  return {
      .name = "looped-bfs",
      .aliases = {{.name = "LoopedBFS", .dialect = "PyTorch"}},
      .summary = "all microbatches through one chunk after the other",
      .source = "Lamy-Poirier 2022, Breadth-First Pipeline Parallelism, arXiv 2211.05953, section 4",
      .when_to_use = "With sharded weights: gathers each chunk once per pass. Holds all activations.",
      .requirements = {.max_chunks = kMaxIndex,
                       .default_chunks = 2,
                       .text = "any ranks, any microbatches, any chunks"},
      .closed_forms = closed_forms(),
      .emit = emit,
  };
}

}  // namespace pipeloom::schedules
