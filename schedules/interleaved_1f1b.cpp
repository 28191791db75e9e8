// Interleaved 1F1B: every rank holds v chunks of the model, so that a microbatch passes all ranks v times in
// smaller steps and the pipeline fills v times sooner.
//
// Source: Narayanan et al. 2021 (arXiv 2104.04473), section 2.2; Megatron-LM's interleaved schedule. The
// order of the forwards and backwards stands in interleaved_order.hpp.
//
// p = 4, m = 8, v = 2; F takes one column (two characters), B two; small letters are chunk 1:
//
//   rank 0  F0F1F2F3f0f1f2f3F4F5F6      b0--F7b1--  f4b2--f5b3--f6B0--f7B1--B2--  B3--  b4--  b5--  b6--  b7--B4--B5--B6--B7--
//   rank 1    F0F1F2F3f0f1f2f3F4    b0--F5b1--F6b2--F7b3--f4B0--f5B1--f6B2--f7B3--  b4--  b5--  b6--  b7--B4--B5--B6--B7--
//   rank 2      F0F1F2F3f0f1f2  b0--f3b1--F4b2--F5b3--F6B0--F7B1--f4B2--f5B3--f6b4--f7b5--  b6--  b7--B4--B5--B6--B7--
//   rank 3        F0F1F2F3f0b0--f1b1--f2b2--f3b3--F4B0--F5B1--F6B2--F7B3--f4b4--f5b5--f6b6--f7b7--B4--B5--B6--B7--
//
// Requires: any p, v, N >= 1, and an order that does not hang: two consecutive groups need 2p - 2
// microbatches together (interleaved_order.hpp has the rule). N = p that divides m is always fine.
//
// Closed forms, equal stages, no transfers, F and B per chunk pass: makespan (m v + p - 1)(F + B) if N = p
// divides m; peak_live min(m v, 2(p - r - 1) + (v - 1)N + 1) chunk passes, any N.

#include <algorithm>

#include "schedules/closed_form.hpp"
#include "schedules/idle_cells.hpp"
#include "schedules/interleaved_order.hpp"
#include "schedules/megatron_groups.hpp"
#include "schedules/placements.hpp"
#include "schedules/queue_builder.hpp"
#include "schedules/registry.hpp"

namespace pipeloom::schedules {
namespace {

Schedule emit(const Params& params) {
  const int p = params.ranks;
  const int m = params.microbatches;
  const int v = params.chunks;

  const InterleavedOrder order(params);
  ScheduleBuilder out(loop_placement(params), m);
  out.reserve(op_count(p * v, m, 2));
  for (Rank rank{0}; rank < Rank(p); ++rank) {
    out.begin_rank(rank);
    const auto warmup = static_cast<std::size_t>(interleaved_warmup(params, rank, 0));
    // 1. F of rows 0, 1, ..                                warmup forwards
    for (std::size_t t = 0; t < warmup; ++t) out.add(order.forward(t, rank));
    // 2. F of row t+warmup, B of row t                     m v - warmup pairs
    for (std::size_t t = 0; t < order.length() - warmup; ++t) {
      out.add(order.forward(t + warmup, rank));
      out.add(order.backward(t, rank));
    }
    // 3. B of rows .., m v - 1                             warmup backwards
    for (std::size_t t = order.length() - warmup; t < order.length(); ++t) out.add(order.backward(t, rank));
  }
  return std::move(out).build();
}

bool hangs(const Params& params) {
  return interleaved_hangs(params, 0);
}

/// PyTorch draws r blanks in front, the wait for the first gradient behind the warm-up, and a blank before each
/// backward of the cool-down, where a forward stood before.
IdleCells idle_cells(const Params& params, const Schedule& schedule) {
  if (!has_pytorch_rounds(params)) return {};
  IdleCells cells = no_idle_cells(schedule);
  for (Rank rank{0}; rank < Rank(params.ranks); ++rank) {
    auto& blanks = cells[rank.at()];
    const int r = rank.value();
    const auto warmup = static_cast<int>(interleaved_warmup(params, rank, 0));
    const int round_trip = params.chunks * params.ranks + 2 * (params.ranks - 1 - r);
    blanks[0] = r;
    if (warmup == 0) continue;
    blanks[static_cast<std::size_t>(warmup)] += std::max(0, round_trip - warmup - r);
    // The cool-down's backwards are the last entries; the cell behind the last one stays empty.
    for (auto it = blanks.end() - 1 - warmup; it != blanks.end() - 1; ++it) ++*it;
  }
  return cells;
}

std::vector<ClosedForm> closed_forms() {
  const std::string condition = "equal stages, no transfers, N = p, m a multiple of p";
  const auto holds = [](const Params& params) {
    return group_size_of(params) == params.ranks && params.microbatches % params.ranks == 0;
  };
  return {
      time_form("makespan", "(m v + p - 1)(F + B), F and B per chunk", condition,
                [holds](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  if (!holds(params)) return std::nullopt;
                  const std::int64_t passes = std::int64_t{params.microbatches} * params.chunks;
                  return (passes + params.ranks - 1) * (costs.forward + costs.backward);
                }),
      time_form("idle", "(p - 1)(F + B), so that bubble_overhead = (p - 1)/(m v)", condition,
                [holds](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  if (!holds(params)) return std::nullopt;
                  return (params.ranks - 1) * (costs.forward + costs.backward);
                }),
      order_form(
          "peak_live", "min(m v, 2(p - 1 - r) + (v - 1) N + 1)", "",
          [](const Params& params, Rank rank) -> Value { return interleaved_warmup(params, rank, 1); }),
  };
}

}  // namespace

Generator interleaved_1f1b() {
  return {
      .name = "interleaved-1f1b",
      .aliases = {{.name = "Interleaved1F1B",
                   .dialect = "PyTorch",
                   .defaults = pytorch_rounds("Interleaved1F1B")},
                  {.name = "interleaved_1f1b", .dialect = "Megatron-LM"},
                  {.name = "megatron-interleaved",
                   .dialect = "Megatron-LM",
                   .defaults = megatron_groups("megatron-interleaved")},
                  {.name = "interleave", .dialect = "PP-Schedule-Visualization"},
                  {.name = "1f1b_interleave", .dialect = "PP-Schedule-Visualization"}},
      .summary = "1f1b with v chunks per rank: a v-th of the idle time, v times the transfers",
      .source = "Narayanan et al. 2021, Megatron-LM, arXiv 2104.04473, section 2.2",
      .when_to_use =
          "Few microbatches per rank and fast links. options.group_size = N > p trades memory for slack "
          "between a send and its use. In Megatron-LM chunks is virtual_pipeline_model_parallel_size and "
          "N is microbatch_group_size_per_vp_stage; megatron-interleaved takes the N and m that it takes.",
      .requirements = {.max_chunks = kMaxIndex,
                       .default_chunks = 2,
                       .takes = {Option::GroupSize},
                       .text = "two consecutive groups together have at least 2 ranks - 2 microbatches"},
      .closed_forms = closed_forms(),
      .placement = loop_placement,
      .emit = whatever_the_costs(emit),
      .predicate = [](const Params& params) { return hangs(params) ? hang_text(params, emit) : ""; },
      .accepts = [](const Params& params) { return !hangs(params); },
      .idle_cells = idle_cells,
      .messages = megatron_interleaved_messages,
      .groups_both_ways = takes_megatron_groups,
  };
}

}  // namespace pipeloom::schedules
