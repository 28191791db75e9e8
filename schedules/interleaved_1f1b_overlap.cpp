// Interleaved 1F1B with overlapped pairs: one more warm-up forward per rank makes the forward and the
// backward of a steady step independent of each other, so that both run at once and each hides the other's
// communication.
//
// Source: Megatron-LM's combined 1F1B (overlap_moe_expert_parallel_comm); PP-Schedule-Visualization, strategy
// 1f1b_interleave_overlap. The order of the forwards and backwards is in interleaved_order.hpp.
//
// p = 4, m = 8, v = 2; F takes one column (two characters), B two, a pair F/B three;
// small letters are chunk 1:
//
//   rank 0  F0F1F2F3f0f1f2f3F4F5F6            F7/b0-f4/b1-f5/b2-f6/b3-f7/B0-B1--  B2--B3--  b4--b5--  b6--b7--B4--B5--B6--B7--
//   rank 1    F0F1F2F3f0f1f2f3F4        F5/b0-F6/b1-F7/b2-f4/b3-f5/B0-f6/B1-f7/B2-B3--  b4--b5--  b6--b7--B4--B5--B6--B7--
//   rank 2      F0F1F2F3f0f1f2    f3/b0-F4/b1-F5/b2-F6/b3-F7/B0-f4/B1-f5/B2-f6/B3-f7/b4-b5--  b6--b7--B4--B5--B6--B7--
//   rank 3        F0F1F2F3f0f1/b0-f2/b1-f3/b2-F4/b3-F5/B0-F6/B1-F7/B2-f4/B3-f5/b4-f6/b5-f7/b6-b7--B4--B5--B6--B7--
//
// Requires: any p, v, N >= 1, and an order that does not hang: two consecutive groups need 2p - 1
// microbatches together (interleaved_order.hpp has the rule). N = p that divides m is always fine.
//
// Variant fused: the warm-up of interleaved-1f1b, whose every steady forward and backward is one step, as NVIDIA's jaxpp fuses them.
//
// Closed forms, equal stages, no transfers, F and B per chunk pass, max(F, B) <= X <= F + B: makespan
// p v (F + B) + (m v - p(v - 1) - 1) X if N = p divides m and m >= 2p; peak_live
// min(m v, 2(p - r) + (v - 1) N) chunk passes, any N.

#include "schedules/closed_form.hpp"
#include "schedules/interleaved_order.hpp"
#include "schedules/megatron_groups.hpp"
#include "schedules/placements.hpp"
#include "schedules/queue_builder.hpp"
#include "schedules/registry.hpp"
#include "schedules/stack_rules.hpp"

namespace pipeloom::schedules {
namespace {

/// jaxpp's fused steps: no forward more in the warm-up, so that a pair on the last stage is one microbatch's, and runs in turn.
bool is_fused(const Params& params) {
  return params.options.variant == "fused";
}

Schedule emit(const Params& params) {
  const int p = params.ranks;
  const int m = params.microbatches;
  const int v = params.chunks;

  const InterleavedOrder order(params);
  ScheduleBuilder out(loop_placement(params), m);
  out.reserve(op_count(p * v, m, 2));
  for (Rank rank{0}; rank < Rank(p); ++rank) {
    out.begin_rank(rank);
    const auto warmup = static_cast<std::size_t>(interleaved_warmup(params, rank, is_fused(params) ? 0 : 1));
    // 1. F of rows 0, 1, ..                                warmup forwards
    for (std::size_t t = 0; t < warmup; ++t) out.add(order.forward(t, rank));
    // 2. (F of row t+warmup;B of row t)                    m v - warmup overlapped pairs
    for (std::size_t t = 0; t < order.length() - warmup; ++t)
      out.add_pair(order.forward(t + warmup, rank), order.backward(t, rank));
    // 3. B of rows .., m v - 1                             warmup backwards
    for (std::size_t t = order.length() - warmup; t < order.length(); ++t) out.add(order.backward(t, rank));
  }
  return std::move(out).build();
}

bool hangs(const Params& params) {
  return groups_too_short(params, 2 * std::int64_t{params.ranks} - 2, !is_fused(params));
}

std::vector<ClosedForm> closed_forms() {
  return {
      time_form(
          "makespan", "p v (F + B) + (m v - p(v - 1) - 1) X, F and B per chunk",
          "equal stages, no transfers, N = p, m a multiple of p, m >= 2p, max(F, B) <= X <= F + B; not fused",
          [](const Params& params, const UniformCosts& costs, Rank) -> Value {
            const std::int64_t p = params.ranks;
            const std::int64_t m = params.microbatches;
            const std::int64_t v = params.chunks;
            const auto x = pair_duration(costs);
            const Ticks sum = costs.forward + costs.backward;
            if (!x || *x > sum || is_fused(params) || !has_equal_groups(params) ||
                group_size_of(params) != p || m % p != 0 || m < 2 * p)
              return std::nullopt;
            return p * v * sum + (m * v - p * (v - 1) - 1) * *x;
          }),
      order_form("peak_live", "min(m v, 2(p - r) + (v - 1) N); fused: one less", "",
                 [](const Params& params, Rank rank) -> Value {
                   return interleaved_warmup(params, rank, is_fused(params) ? 1 : 2);
                 }),
  };
}

}  // namespace

Generator interleaved_1f1b_overlap() {
  return {
      .name = "interleaved-1f1b-overlap",
      .aliases = {{.name = "megatron-combined-1f1b",
                   .dialect = "Megatron-LM",
                   .defaults = megatron_groups("megatron-combined-1f1b")},
                  {.name = "interleave_overlap", .dialect = "PP-Schedule-Visualization"},
                  {.name = "1f1b_interleave_overlap", .dialect = "PP-Schedule-Visualization"},
                  alias("PipelineParallelWithInterleave-overlap", paddle_dynamic_groups()),
                  alias_with_rounds("jaxpp-interleaved-1f1b-fused", {.stack = "jaxpp", .variant = "fused"})},
      .summary = "interleaved-1f1b whose steady forward and backward run as one overlapped pair",
      .source = "Megatron-LM, combined 1F1B (overlap_moe_expert_parallel_comm)",
      .when_to_use =
          "Expert parallelism on one copy of the model: hides the all-to-all like dualpipe for one more "
          "chunk of activations. In Megatron-LM it is overlap_moe_expert_parallel_comm with "
          "virtual_pipeline_model_parallel_size = chunks.",
      .requirements = {.max_chunks = kMaxIndex,
                       .default_chunks = 2,
                       .overlaps = true,
                       .takes = {Option::GroupSize},
                       .variants = {"independent", "fused"},
                       .text =
                           "two consecutive groups together have at least 2 ranks - 1 microbatches; with 2 "
                           "chunks one microbatch alone may follow a group"},
      .closed_forms = closed_forms(),
      .placement = loop_placement,
      .emit = whatever_the_costs(emit),
      .predicate = hang_rule(hangs, emit).predicate,
      .accepts = hang_rule(hangs, emit).accepts,
      .messages = [](const Params& params, std::shared_ptr<const Schedule> schedule,
                     MessageStyle style) -> std::optional<Program> {
        if (is_fused(params)) return std::nullopt;
        return megatron_interleaved_messages(params, std::move(schedule), style);
      },
      .period = [](const Params& params) { return params.chunks == 1 ? 1 : group_size_of(params); },
  };
}

}  // namespace pipeloom::schedules
