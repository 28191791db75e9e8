// Interleaved 1F1B: every rank holds v chunks of the model, so that a microbatch passes all ranks v times in
// smaller steps and the pipeline fills v times sooner.
//
// Source: Narayanan et al. 2021 (arXiv 2104.04473), section 2.2; Megatron-LM's interleaved schedule. The
// order of the forwards and backwards is in interleaved_order.hpp.
//
// p = 4, m = 8, v = 2; F takes one column (two characters), B two; small letters are chunk 1:
//
//   rank 0  F0F1F2F3f0f1f2f3F4F5F6      b0--F7b1--  f4b2--f5b3--f6B0--f7B1--B2--  B3--  b4--  b5--  b6--  b7--B4--B5--B6--B7--
//   rank 1    F0F1F2F3f0f1f2f3F4    b0--F5b1--F6b2--F7b3--f4B0--f5B1--f6B2--f7B3--  b4--  b5--  b6--  b7--B4--B5--B6--B7--
//   rank 2      F0F1F2F3f0f1f2  b0--f3b1--F4b2--F5b3--F6B0--F7B1--f4B2--f5B3--f6b4--f7b5--  b6--  b7--B4--B5--B6--B7--
//   rank 3        F0F1F2F3f0b0--f1b1--f2b2--f3b3--F4B0--F5B1--F6B2--F7B3--f4b4--f5b5--f6b6--f7b7--B4--B5--B6--B7--
//
// Variants that other stacks run as their interleaved schedule:
//
//   short-warmup      p - 1 - r forwards fewer in front: Paddle's VPPFhenBInBalancedMemory, with one group of m
//   long-warmup       one more: KimiK2 of NVIDIA's jaxpp
//   all-forwards      all of them: InternEvo, Paddle's static VPP and older copies of Megatron-LM's loop where m = p
//   early-last-chunk  backwards of the last chunk come sooner after a first group that is larger than p: Paddle's best_unbalanced
//   padded            m is padded to whole groups, and the surplus microbatches are left out: DynaPipe's interleaved 1F1B
//
// Requires: any p, v, N >= 1, and an order that does not hang: two consecutive groups need 2p - 2
// microbatches together (interleaved_order.hpp has the rule). N = p that divides m is always fine.
//
// Closed forms, equal stages, no transfers, F and B per chunk pass: makespan (m v + p - 1)(F + B) if N = p
// divides m; peak_live min(m v, 2(p - r - 1) + (v - 1)N + 1) chunk passes, any N.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "schedules/closed_form.hpp"
#include "schedules/idle_cells.hpp"
#include "schedules/interleaved_order.hpp"
#include "schedules/megatron_groups.hpp"
#include "schedules/placements.hpp"
#include "schedules/queue_builder.hpp"
#include "schedules/registry.hpp"
#include "schedules/stack_rules.hpp"

namespace pipeloom::schedules {
namespace {

/// How many forwards come before the first backward, and in which order the backwards come.
enum class Variant { Standard, Short, Long, AllForwards, EarlyLast, Padded };

constexpr std::array<std::string_view, 6> kVariants = {"standard",     "short-warmup",     "long-warmup",
                                                       "all-forwards", "early-last-chunk", "padded"};

Variant variant_of(const Params& params) {
  const auto found = std::ranges::find(kVariants, params.options.variant);
  return found == kVariants.end() ? Variant::Standard : static_cast<Variant>(found - kVariants.begin());
}

bool is_standard(const Params& params) {
  return variant_of(params) == Variant::Standard;
}

/// DynaPipe counts the passes of full groups only; where no group is full, all forwards come first.
std::int64_t padded_warmup(const Params& params, Rank rank) {
  const std::int64_t n = group_size_of(params);
  const std::int64_t v = params.chunks;
  Params full = params;
  full.microbatches -= params.microbatches % group_size_of(params);
  if (full.microbatches == 0) return std::max(params.microbatches * v, (v - 1) * n);
  return interleaved_warmup(full, rank, 0);
}

/// Rows of the table before the first pair of a forward and a backward.
std::int64_t warmup_of(const Params& params, Rank rank) {
  switch (variant_of(params)) {
    case Variant::Short:
      return interleaved_warmup(params, rank, rank.value() + 1 - params.ranks);
    case Variant::Long:
      return interleaved_warmup(params, rank, 1);
    case Variant::AllForwards:
      return std::int64_t{params.microbatches} * params.chunks;
    case Variant::Padded:
      return padded_warmup(params, rank);
    case Variant::Standard:
    case Variant::EarlyLast:
      break;
  }
  return interleaved_warmup(params, rank, 0);
}

/// Parameters of the table: for padded, m grows to whole groups, and the surplus microbatches are left out of the queues.
Params table_of(const Params& params) {
  Params table = params;
  const std::int64_t n = group_size_of(params);
  const std::int64_t whole = (params.microbatches + n - 1) / n * n;
  if (variant_of(params) == Variant::Padded)
    table.microbatches = static_cast<int>(std::min<std::int64_t>(whole, kMaxIndex));
  return table;
}

/// Rows of the table in the order of their backwards. Early: those of the last chunk, a group's first, come (v - 1)(n - p) places
/// sooner if the first group has n > p microbatches: as soon as if it had p.
std::vector<std::size_t> backward_rows(const Params& params, std::size_t length) {
  constexpr auto kFree = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> rows(length, kFree);
  std::vector<bool> placed(length, false);
  const std::vector<int> groups = groups_of(params);
  const auto sooner = op_count(params.chunks - 1, std::max(0, groups.front() - params.ranks), 1);
  std::size_t begin = 0;
  for (const int size : groups) {
    for (std::size_t t = begin; t < begin + static_cast<std::size_t>(size); ++t)
      if (variant_of(params) == Variant::EarlyLast && begin > 0) {
        rows[t - sooner] = t;
        placed[t] = true;
      }
    begin += op_count(params.chunks, size, 1);
  }
  std::size_t next = 0;
  for (std::size_t& row : rows) {
    while (next < length && placed[next]) ++next;
    if (row == kFree) row = next++;
  }
  return rows;
}

Schedule emit(const Params& params) {
  const int p = params.ranks;
  const int m = params.microbatches;
  const int v = params.chunks;

  const Params table = table_of(params);
  const InterleavedOrder order(table);
  const std::vector<std::size_t> backwards = backward_rows(table, order.length());
  ScheduleBuilder out(loop_placement(params), m);
  out.reserve(op_count(p * v, m, 2));
  const auto add = [&](Op op) {
    if (op.microbatch() < Microbatch(m)) out.add(op);
  };
  for (Rank rank{0}; rank < Rank(p); ++rank) {
    out.begin_rank(rank);
    const auto warmup = static_cast<std::size_t>(warmup_of(params, rank));
    // 1. F of rows 0, 1, ..                                warmup forwards
    for (std::size_t t = 0; t < warmup; ++t) add(order.forward(t, rank));
    // 2. F of row t+warmup, B of row t                     m v - warmup pairs
    for (std::size_t t = 0; t < order.length() - warmup; ++t) {
      add(order.forward(t + warmup, rank));
      add(order.backward(backwards[t], rank));
    }
    // 3. B of rows .., m v - 1                             warmup backwards
    for (std::size_t t = order.length() - warmup; t < order.length(); ++t)
      add(order.backward(backwards[t], rank));
  }
  return std::move(out).build();
}

/// With equal groups. Long: as standard, although with a few microbatches in the second group the one forward more would do. Early: a second group of more than p microbatches has its last chunk's backwards in front of their forwards.
/// Padded: two groups of which one is padded do not wait for each other. Both by exhaustive trial, as groups_too_short().
bool hangs(const Params& params) {
  const std::int64_t p = params.ranks;
  const std::int64_t n = group_size_of(params);
  switch (variant_of(params)) {
    case Variant::Standard:
    case Variant::Long:
      break;
    case Variant::Short:
      return groups_too_short(params, p - 2);
    case Variant::AllForwards:
      return false;
    case Variant::EarlyLast:
      if (params.chunks > 1 && n > p && params.microbatches - n > p) return true;
      break;
    case Variant::Padded:
      return params.microbatches >= 2 * n && groups_too_short(table_of(params), 2 * p - 3);
  }
  return groups_too_short(params, 2 * p - 3);
}

/// PyTorch draws r blanks in front, the wait for the first gradient after the warm-up, and a blank before each
/// backward of the cool-down, where the steady phase has a forward.
IdleCells idle_cells(const Params& params, const Schedule& schedule) {
  if (!has_pytorch_rounds(params) || !is_standard(params)) return {};
  IdleCells cells = no_idle_cells(schedule);
  for (Rank rank{0}; rank < Rank(params.ranks); ++rank) {
    auto& blanks = cells[rank.at()];
    const int r = rank.value();
    const auto warmup = static_cast<int>(interleaved_warmup(params, rank, 0));
    const int round_trip = params.chunks * params.ranks + 2 * (params.ranks - 1 - r);
    blanks[0] = r;
    if (warmup == 0) continue;
    blanks[static_cast<std::size_t>(warmup)] += std::max(0, round_trip - warmup - r);
    // The cool-down's backwards are the last entries; the cell after the last one stays empty.
    for (auto it = blanks.end() - 1 - warmup; it != blanks.end() - 1; ++it) ++*it;
  }
  return cells;
}

std::vector<ClosedForm> closed_forms() {
  const std::string condition = "equal stages, no transfers, N = p, m a multiple of p; not short-warmup";
  const auto holds = [](const Params& params) {
    return variant_of(params) != Variant::Short && has_equal_groups(params) &&
           group_size_of(params) == params.ranks && params.microbatches % params.ranks == 0;
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
      order_form("peak_live",
                 "min(m v, 2(p - 1 - r) + (v - 1) N + 1); long-warmup: one more; short-warmup: p - 1 - r "
                 "less; all-forwards: m v",
                 "not padded",
                 [](const Params& params, Rank rank) -> Value {
                   if (variant_of(params) == Variant::Padded) return std::nullopt;
                   return std::min(std::int64_t{params.microbatches} * params.chunks,
                                   warmup_of(params, rank) + 1);
                 }),
  };
}

/// InternEvo, Paddle's static graph and older copies of Megatron-LM's loop: no 1F1B where m = p.
void forwards_first_in_one_round(Params& params) {
  if (params.microbatches == params.ranks && params.options.variant.empty())
    params.options.variant = kVariants[static_cast<std::size_t>(Variant::AllForwards)];
}

void one_group(Params& params) {
  if (!params.options.group_size) params.options.group_size = params.microbatches;
}

std::vector<Alias> aliases() {
  StackRule unbalanced = paddle_dynamic_groups();
  unbalanced.variant = "early-last-chunk";
  return {{.name = "Interleaved1F1B", .dialect = "PyTorch", .defaults = pytorch_rounds("Interleaved1F1B")},
          {.name = "interleaved_1f1b", .dialect = "Megatron-LM"},
          {.name = "megatron-interleaved",
           .dialect = "Megatron-LM",
           .defaults = megatron_groups("megatron-interleaved")},
          {.name = "interleave", .dialect = "PP-Schedule-Visualization"},
          {.name = "1f1b_interleave", .dialect = "PP-Schedule-Visualization"},
          alias("VPP", {.stack = "Paddle's static graph",
                        .least_per_rank = 1,
                        .least_more = 0,
                        .options = forwards_first_in_one_round}),
          alias("PipelineParallelWithInterleave", paddle_dynamic_groups()),
          alias("PipelineParallelWithInterleave-best_unbalanced", unbalanced),
          alias("InterleaveFthenB", {.stack = "Paddle's dynamic graph",
                                     .one_round = true,
                                     .min_ranks = 3,
                                     .min_chunks = 2,
                                     .variant = "all-forwards"}),
          alias("VPPFhenBInBalancedMemory", {.stack = "Paddle's dynamic graph",
                                             .least_per_rank = 1,
                                             .least_more = 0,
                                             .below_per_rank = 2,
                                             .min_ranks = 3,
                                             .min_chunks = 2,
                                             .variant = "short-warmup",
                                             .options = one_group}),
          alias("InterleavedPipelineScheduler",
                {.stack = "InternEvo", .whole_rounds = true, .options = forwards_first_in_one_round}),
          alias("colossalai-interleaved", {.stack = "ColossalAI", .whole_rounds = true}),
          alias("sched_1f1b_interleaved", {.stack = "nnscaler", .whole_rounds = true}),
          alias_with_rounds("jaxpp-interleaved-1f1b", {.stack = "jaxpp"}),
          alias_with_rounds("KimiK2", {.stack = "jaxpp", .variant = "long-warmup"}),
          alias("dynapipe-interleaved", {.stack = "DynaPipe", .variant = "padded"})};
}

}  // namespace

Generator interleaved_1f1b() {
  return {
      .name = "interleaved-1f1b",
      .aliases = aliases(),
      .summary = "1f1b with v chunks per rank: a v-th of the idle time, v times the transfers",
      .source = "Narayanan et al. 2021, Megatron-LM, arXiv 2104.04473, section 2.2",
      .when_to_use =
          "Few microbatches per rank and fast links. options.group_size = N > p trades memory for slack "
          "between a send and its use; a list has a size for each group. In Megatron-LM chunks is "
          "virtual_pipeline_model_parallel_size and "
          "N is microbatch_group_size_per_vp_stage; megatron-interleaved takes the N and m that it takes.",
      .requirements = {.max_chunks = kMaxIndex,
                       .default_chunks = 2,
                       .takes = {Option::GroupSize},
                       .variants = {kVariants.begin(), kVariants.end()},
                       .text =
                           "two consecutive groups together have at least 2 ranks - 2 microbatches; with 2 "
                           "chunks one microbatch alone may follow a group"},
      .closed_forms = closed_forms(),
      .placement = loop_placement,
      .emit = whatever_the_costs(emit),
      .predicate = hang_rule(hangs, emit).predicate,
      .accepts = hang_rule(hangs, emit).accepts,
      .idle_cells = idle_cells,
      .messages = [](const Params& params, std::shared_ptr<const Schedule> schedule,
                     MessageStyle style) -> std::optional<Program> {
        if (!is_standard(params)) return std::nullopt;
        return megatron_interleaved_messages(params, std::move(schedule), style);
      },
      .groups_both_ways =
          [](const Params& params) { return is_standard(params) && takes_megatron_groups(params); },
      .period = [](const Params& params) { return params.chunks == 1 ? 1 : group_size_of(params); },
  };
}

}  // namespace pipeloom::schedules
