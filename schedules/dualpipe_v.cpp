// DualPipeV: DualPipe cut in half. Rank r holds stage r and stage 2p-1-r, so that one copy of the model goes
// down the ranks and up again and the two arms of the V take the place of the two directions.
//
// Source: DualPipe repository, dualpipev.py; Sea AI Lab, "Cut-in-half" (2025). The eight steps are in
// dualpipe_steps.cpp.
//
// p = 4, m = 8; F takes one column (two characters), B two, a pair F/B three;
// small letters are the upward arm, stage 2p-1-r:
//
//   rank 0  F0F1F2F3F4F5F6f0i0w0f1i1w1f2i2w2f3F7/b3-      f4/B0-b4--  f5/B1-b5--  f6/B2-b6--  f7/B3-b7--I4W4I5W5I6W6I7W7
//   rank 1    F0F1F2F3F4f0F5f1i0w0f2i1w1f3F6/b2-    f4/B0-F7/b3-f5/B1-b4--  f6/B2-b5--  f7/B3-b6--B4--  i7I5w7I6W5I7W6W7
//   rank 2      F0F1F2f0F3f1F4f2i0w0f3F5/b1-  f4/B0-F6/b2-f5/B1-F7/b3-f6/B2-b4--  f7/B3-b5--B4--  b6--I5  i7I6W5I7w7W6W7
//   rank 3        F0f0F1f1F2f2F3f3F4b0--f4/B0-F5/b1-f5/B1-F6/b2-f6/B2-F7/b3-f7/B3-b4--B4--  b5--B5--  i6I6  i7I7w6W6w7W7
//
// Requires: v = 2, m >= 2p - 1 (DeepSeek and PyTorch ask for 2p); p may be odd. The queues are those of the
// first p ranks of dualpipe with 2p ranks and 2m microbatches, microbatches taken modulo m.
//
// Variants that other stacks run under this name or another:
//
//   whole-backwards  DeepSpeed 0.19.8: B where there is I and W, and no pairs
//   backward-first   MindSpore's zero_bubble_v: no pairs, the backward before the forward, so that a rank holds a pass less
//   weights-last     NVIDIA's jaxpp: W's at the end only, every other backward of the end whole, on rank 0 all
//
// Closed forms, equal stages, no transfers, B = I + W, W <= I <= F, m >= 2p: the innermost rank p-1 idles
// (p - 1)(X + F - 2W) and ends last; peak_live 2p + 1 on every rank.
// F = I = W = 1, X = 3: makespan 6m + 2(p - 1).

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "schedules/closed_form.hpp"
#include "schedules/dualpipe_steps.hpp"
#include "schedules/placements.hpp"
#include "schedules/registry.hpp"
#include "schedules/stack_rules.hpp"
#include "sim/messages/message_plans.hpp"

namespace pipeloom::schedules {
namespace {

/// [i]: the style of kVariants[i].
constexpr std::array<DualPipeStyle, 4> kStyles = {DualPipeStyle::Pairs, DualPipeStyle::Whole,
                                                  DualPipeStyle::BackwardFirst, DualPipeStyle::WeightsLast};
constexpr std::array<std::string_view, 4> kVariants = {"standard", "whole-backwards", "backward-first",
                                                       "weights-last"};

DualPipeStyle style_of(const Params& params) {
  const auto found = std::ranges::find(kVariants, params.options.variant);
  return found == kVariants.end() ? DualPipeStyle::Pairs
                                  : kStyles[static_cast<std::size_t>(found - kVariants.begin())];
}

bool is_standard(const Params& params) {
  return style_of(params) == DualPipeStyle::Pairs;
}

Schedule emit(const Params& params) {
  const int p = params.ranks;
  const int m = params.microbatches;

  ScheduleBuilder out(v_placement(params), m);
  out.reserve(op_count(2 * p, m, 2) + op_count(2 * p, p, 1));
  for (int r = 0; r < p; ++r) {
    out.begin_rank(Rank(r));
    QueueBuilder queue(out, {Lane{.stage = Stage(r)}, Lane{.stage = Stage(2 * p - 1 - r)}});
    emit_dualpipe_steps({.half = p, .depth = r, .microbatches = m, .style = style_of(params)}, queue);
  }
  return std::move(out).build();
}

std::vector<ClosedForm> closed_forms() {
  const std::string condition =
      "equal stages, no transfers, m >= 2p, B = I + W, W <= I <= F, max(F, B) <= X <= F + B; standard";
  return {
      time_form("makespan", "(2p + 1) F + (p + 1) B + p(I + W) + (2m - 2p - 1) X + (p - 1)(X + F - 2W)",
                condition,
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  if (params.microbatches < 2 * params.ranks || !is_standard(params)) return std::nullopt;
                  return dualpipe_makespan(params.ranks, params.microbatches, costs);
                }),
      order_form("peak_live", "2p + 1; backward-first: 2p", "m >= 2p",
                 [](const Params& params, Rank) -> Value {
                   if (params.microbatches < 2 * params.ranks) return std::nullopt;
                   return 2 * params.ranks + (style_of(params) == DualPipeStyle::BackwardFirst ? 0 : 1);
                 }),
  };
}

}  // namespace

Generator dualpipe_v() {
  return {
      .name = "dualpipe-v",
      .aliases =
          {{.name = "DualPipeV", .dialect = "PyTorch"},
           {.name = "dualpipe_v", .dialect = "PP-Schedule-Visualization"},
           alias("DualPipeVParallel",
                 {.stack = "Paddle's dynamic graph", .least_per_rank = 2, .least_more = 0}),
           alias("DualPipeVSchedule",
                 {.stack = "DeepSpeed", .least_per_rank = 2, .least_more = 0, .variant = "whole-backwards"}),
           alias("zero_bubble_v",
                 {.stack = "MindSpore", .least_per_rank = 2, .least_more = 0, .variant = "backward-first"}),
           alias("jaxpp-dualpipe-v",
                 {.stack = "jaxpp", .least_per_rank = 2, .least_more = 0, .variant = "weights-last"})},
      .summary = "DualPipe on a V placement: one model copy, two chunks per rank",
      .source = "DeepSeek-AI 2025, DualPipe repository, dualpipev.py",
      .when_to_use =
          "DualPipe's overlap without its second copy of the model, on half as many ranks for the same "
          "stages.",
      .requirements = {.min_chunks = 2,
                       .max_chunks = 2,
                       .default_chunks = 2,
                       .min_microbatches_per_rank = 2,
                       .min_microbatches_offset = -1,
                       .splits_backward = true,
                       .overlaps = true,
                       .variants = {kVariants.begin(), kVariants.end()},
                       .text = "2 chunks, microbatches >= 2 ranks - 1"},
      .closed_forms = closed_forms(),
      .placement = v_placement,
      .emit = whatever_the_costs(emit),
      .messages = [](const Params& params, std::shared_ptr<const Schedule> schedule,
                     MessageStyle style) -> std::optional<Program> {
        if (!is_standard(params)) return std::nullopt;
        return blocking_only(dualpipe_blocking)(params, std::move(schedule), style);
      },
      .period = repeats_every(1),
  };
}

}  // namespace pipeloom::schedules
