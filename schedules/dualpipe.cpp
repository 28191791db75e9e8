// DualPipe: two copies of the model run towards each other; where they meet, a forward of one overlaps a
// backward of the other.
//
// Source: DeepSeek-AI, "DeepSeek-V3 Technical Report" (2024, arXiv 2412.19437), section 3.2.1; order of the
// DualPipe repository's step(). The eight steps are in dualpipe_steps.cpp.
//
// Rank r holds stage r for microbatches 0 .. m/2-1, which enter at rank 0, and stage p-1-r for m/2 .. m-1,
// which enter at rank p-1.
//
// p = 4, m = 8; F takes one column (two characters), B two, a pair F/B three;
// small letters are the microbatches that enter at the last rank:
//
//   rank 0  F0F1F2f4i4w4f5F3/b5-  f6/B0-b6--  f7/B1-b7--I2W2I3W3
//   rank 1    F0f4F1f5F2b4--f6/B0-F3/b5-f7/B1-b6--B2--  i7I3w7W3
//   rank 2    f4F0f5F1f6B0--F2/b4-f7/B1-F3/b5-B2--b6--  I3i7W3w7
//   rank 3  f4f5f6F0I0W0F1f7/B1-  F2/b4-B2--  F3/b5-B3--i6w6i7w7
//
// Requires: p even, m even, m >= 2p - 2 (DeepSeek asks for 2p). Rank p-1-r mirrors rank r with the halves of
// the microbatches swapped.
//
// Closed forms, equal stages, no transfers, B = I + W, W <= I <= F, m >= 2p: the innermost ranks idle
// (p/2 - 1)(X + F - 2W) and end last; peak_live p + 1 on every rank.
// F = I = W = 1, X = 3: makespan 3m + p - 2.

#include <algorithm>

#include "schedules/closed_form.hpp"
#include "schedules/dualpipe_steps.hpp"
#include "schedules/placements.hpp"
#include "schedules/registry.hpp"
#include "sim/messages/message_plans.hpp"

namespace pipeloom::schedules {
namespace {

Schedule emit(const Params& params) {
  const int p = params.ranks;
  const int m = params.microbatches;
  const int half = m / 2;

  std::vector<std::uint8_t> replica_of_microbatch(static_cast<std::size_t>(m), 0);
  std::fill(replica_of_microbatch.begin() + half, replica_of_microbatch.end(), std::uint8_t{1});
  ScheduleBuilder out(bidirectional_placement(params), m, std::move(replica_of_microbatch));
  out.reserve(op_count(p, m, 2) + op_count(p, p, 1));
  for (int r = 0; r < p; ++r) {
    out.begin_rank(Rank(r));
    const Lane down = {.stage = Stage(r), .first = Microbatch(0)};
    const Lane up = {.stage = Stage(p - 1 - r), .first = Microbatch(half)};
    const bool near_top = r < p / 2;
    QueueBuilder queue(out, {near_top ? down : up, near_top ? up : down});
    emit_dualpipe_steps({.half = p / 2, .depth = std::min(r, p - 1 - r), .microbatches = half}, queue);
  }
  return std::move(out).build();
}

std::vector<ClosedForm> closed_forms() {
  const std::string condition =
      "equal stages, no transfers, m >= 2p, B = I + W, W <= I <= F, max(F, B) <= X <= F + B";
  return {
      time_form("makespan", "(p + 1) F + (p/2 + 1) B + (p/2)(I + W) + (m - p - 1) X + (p/2 - 1)(X + F - 2W)",
                condition,
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  if (params.microbatches < 2 * params.ranks) return std::nullopt;
                  return dualpipe_makespan(params.ranks / 2, params.microbatches / 2, costs);
                }),
      order_form("peak_live", "p + 1", "m >= 2p",
                 [](const Params& params, Rank) -> Value {
                   if (params.microbatches < 2 * params.ranks) return std::nullopt;
                   return params.ranks + 1;
                 }),
  };
}

}  // namespace

Generator dualpipe() {
  return {
      .name = "dualpipe",
      .aliases = {{.name = "DualPipe", .dialect = "DeepSeek"}},
      .summary = "two model copies in opposite directions, forwards overlapping backwards",
      .source = "DeepSeek-AI 2024, DeepSeek-V3 Technical Report, arXiv 2412.19437, section 3.2.1",
      .when_to_use =
          "Expert parallelism with few dense parameters: a small bubble and hidden all-to-all, for two "
          "copies of the model.",
      .requirements = {.min_ranks = 2,
                       .even_ranks = true,
                       .even_microbatches = true,
                       .min_microbatches_per_rank = 2,
                       .min_microbatches_offset = -2,
                       .splits_backward = true,
                       .overlaps = true,
                       .bidirectional = true,
                       .text = "even ranks, even microbatches, microbatches >= 2 ranks - 2"},
      .closed_forms = closed_forms(),
      .placement = bidirectional_placement,
      .emit = whatever_the_costs(emit),
      .messages = blocking_only(dualpipe_blocking),
      .period = repeats_every(2),
  };
}

}  // namespace pipeloom::schedules
