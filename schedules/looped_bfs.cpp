// Looped BFS: chunk by chunk, each with all microbatches; backwards in the opposite order of everything.
//
// Source: Lamy-Poirier, "Breadth-First Pipeline Parallelism" (2022, arXiv 2211.05953), section 4; the order
// of PyTorch's ScheduleLoopedBFS.
//
// p = 4, m = 8, v = 2; F takes one column (two characters), B two; small letters are chunk 1:
//
//   rank 0  F0F1F2F3F4F5F6F7f0f1f2f3f4f5f6f7                  b7--b6--b5--b4--b3--b2--b1--b0--B7--B6--B5--B4--B3--B2--B1--B0--
//   rank 1    F0F1F2F3F4F5F6F7f0f1f2f3f4f5f6f7            b7--b6--b5--b4--b3--b2--b1--b0--B7--B6--B5--B4--B3--B2--B1--B0--
//   rank 2      F0F1F2F3F4F5F6F7f0f1f2f3f4f5f6f7      b7--b6--b5--b4--b3--b2--b1--b0--B7--B6--B5--B4--B3--B2--B1--B0--
//   rank 3        F0F1F2F3F4F5F6F7f0f1f2f3f4f5f6f7b7--b6--b5--b4--b3--b2--b1--b0--B7--B6--B5--B4--B3--B2--B1--B0--
//
// Requires: nothing; any p, m, v.
//
// Closed forms, equal stages, no transfers, F and B per chunk pass: makespan ((v - 1) max(m, p) + m + p - 1)(F + B);
// peak_live m v.

#include <algorithm>

#include "schedules/closed_form.hpp"
#include "schedules/idle_cells.hpp"
#include "schedules/placements.hpp"
#include "schedules/queue_builder.hpp"
#include "schedules/registry.hpp"
#include "schedules/stack_rules.hpp"

namespace pipeloom::schedules {
namespace {

Schedule emit(const Params& params) {
  const int p = params.ranks;
  const int m = params.microbatches;
  const int v = params.chunks;

  ScheduleBuilder out(loop_placement(params), m);
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

/// PyTorch draws rank r's wait for its first input, r slots, and for its first gradient, 2(p - 1 - r) slots.
IdleCells idle_cells(const Params& params, const Schedule& schedule) {
  IdleCells cells = no_idle_cells(schedule);
  const auto forwards = op_count(params.chunks, params.microbatches, 1);
  for (int r = 0; r < params.ranks; ++r) {
    auto& blanks = cells[Rank(r).at()];
    blanks[0] = r;
    blanks[forwards] = 2 * (params.ranks - 1 - r);
  }
  return cells;
}

std::vector<ClosedForm> closed_forms() {
  return {
      time_form("makespan", "((v - 1) max(m, p) + m + p - 1)(F + B), F and B per chunk",
                "equal stages, no transfers",
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  const std::int64_t p = params.ranks;
                  const std::int64_t m = params.microbatches;
                  const std::int64_t slots = (params.chunks - 1) * std::max(m, p) + m + p - 1;
                  return slots * (costs.forward + costs.backward);
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
      .aliases = {{.name = "LoopedBFS", .dialect = "PyTorch"},
                  alias("circular", {.stack = "MaxText", .whole_rounds = true})},
      .summary = "all microbatches through one chunk after the other",
      .source = "Lamy-Poirier 2022, Breadth-First Pipeline Parallelism, arXiv 2211.05953, section 4",
      .when_to_use =
          "With sharded weights: each chunk is gathered once per pass. Idles as little as interleaved-1f1b, "
          "but holds the activations of all m v chunk passes.",
      .requirements = {.max_chunks = kMaxIndex,
                       .default_chunks = 2,
                       .text = "any ranks, any microbatches, any chunks"},
      .closed_forms = closed_forms(),
      .placement = loop_placement,
      .emit = whatever_the_costs(emit),
      .idle_cells = idle_cells,
  };
}

}  // namespace pipeloom::schedules
