// Chimera: two copies of the model in opposite directions, half of the microbatches through each; the idle
// slots of one direction are the other one's work.
//
// Source: Li and Hoefler, "Chimera: Efficiently Training Large-Scale Neural Networks with Bidirectional
// Pipelines" (2021, arXiv 2107.06925), section 3.1; section 3.5 for more microbatches than ranks.
//
// p = 4, m = 8, variant direct; F takes one column (two characters), B two; microbatches 4 to 7 go up, from
// rank 3 to rank 0:
//
//   rank 0  F0F1  F4B4--F5B5--  B0--F2  B1--F3F6B6--F7B7--  B2--    B3--
//   rank 1    F0F4F1F5  B4--B0--B5--B1--F2F6  F3F7  B6--B2--B7--B3--
//   rank 2    F4F0F5F1  B0--B4--B1--B5--F6F2  F7F3  B2--B6--B3--B7--
//   rank 3  F4F5  F0B0--F1B1--  B4--F6  B5--F7F2B2--F3B3--  B6--    B7--
//
// Variants say what happens to microbatches beyond p:
//
//   direct    units of p microbatches one after another, each pipeline a 1F1B; forwards of the next unit fill
//             the slots that the end of a unit leaves. Slots of one F or one B: made for F = B.
//   doubling  forward doubling: two microbatches go forward as one pass, which takes as long as one B = 2F. Here
//             that is two forwards next to each other in the queue. Twice the activations.
//   halving   backward halving: one microbatch goes forward and its halves go backward one by one. The same order
//             as doubling, where m counts the halves.
//
// The orders are played (list_order.hpp): of the passes that are ready, direct takes backwards first and
// otherwise the earlier microbatch, and keeps p/2 microbatches of a direction on a stage; doubling takes
// forwards first and keeps p of them.
//
// Requires: p even, m even.
//
// Closed forms, equal stages, no transfers. direct: makespan (2m + p - 2) F if F = B and p divides m, that is a
// bubble_ratio of (p - 2)/(2m + p - 2); (3m + (p - 2)(m/p + 1)) F if B = 2F and p divides m, for m = p a ratio of
// (p - 2)/(1.5m + p - 2); peak_live p/2 + 1 + min(r, p - 1 - r), m >= p. doubling and halving: makespan 3(m + p/2 - 1) F if B = 2F and 2p divides m;
// peak_live p more than direct's, m >= 2p.

#include <algorithm>

#include "schedules/closed_form.hpp"
#include "schedules/list_order.hpp"
#include "schedules/placements.hpp"
#include "schedules/registry.hpp"

namespace pipeloom::schedules {
namespace {

bool is_direct(const Params& params) {
  return params.options.variant.empty() || params.options.variant == "direct";
}

/// Backwards first, then the earlier microbatch, then the later stage.
ListKey backward_first(OpKind kind, int stage, int microbatch) {
  return list_key(kind == OpKind::Forward ? 1 : 0, microbatch, -stage);
}
ListKey forward_first(OpKind kind, int stage, int microbatch) {
  return list_key(kind == OpKind::Forward ? 0 : 1, microbatch, -stage);
}

Schedule emit(const Params& params) {
  const int p = params.ranks;
  const ListRule direct = {.max_live = p / 2, .key = backward_first};
  const ListRule doubling = {.forwards_together = 2, .max_live = p, .key = forward_first};
  return list_order(bidirectional_placement(params), params.microbatches,
                    is_direct(params) ? direct : doubling);
}

Value makespan(const Params& params, const UniformCosts& costs) {
  const std::int64_t p = params.ranks;
  const std::int64_t m = params.microbatches;
  const Ticks f = costs.forward;
  const bool equal = costs.backward == f;
  const bool twice = costs.backward == 2 * f;
  if (is_direct(params) && equal && m % p == 0) return (2 * m + p - 2) * f;
  if (is_direct(params) && twice && m % p == 0) return (3 * m + (p - 2) * (m / p + 1)) * f;
  if (!is_direct(params) && twice && m % (2 * p) == 0) return 3 * (m + p / 2 - 1) * f;
  return std::nullopt;
}

Value peak_live(const Params& params, Rank rank) {
  const int p = params.ranks;
  const int from_the_end = std::min(rank.value(), p - 1 - rank.value());
  if (params.microbatches < (is_direct(params) ? p : 2 * p)) return std::nullopt;
  return (is_direct(params) ? p / 2 : 3 * p / 2) + 1 + from_the_end;
}

std::vector<ClosedForm> closed_forms() {
  return {
      time_form(
          "makespan",
          "direct: (2m + p - 2) F if F = B, (3m + (p - 2)(m/p + 1)) F if B = 2F; others: 3(m + p/2 - 1) F",
          "equal stages, no transfers; direct: p divides m; others: B = 2F, 2p divides m",
          [](const Params& params, const UniformCosts& costs, Rank) { return makespan(params, costs); }),
      order_form("peak_live", "p/2 + 1 + min(r, p - 1 - r), p more with doubling",
                 "m >= p, or 2p with doubling", peak_live),
  };
}

}  // namespace

Generator chimera() {
  return {
      .name = "chimera",
      .aliases = {},
      .summary = "two model copies in opposite directions, each half of the microbatches in 1f1b order",
      .source = "Li and Hoefler 2021, Chimera, arXiv 2107.06925, sections 3.1 and 3.5",
      .when_to_use =
          "Few microbatches per rank and room for two copies of the model: half of 1f1b's idle time, and "
          "activations "
          "that are more alike on all ranks. variant = doubling or halving for m of 2 p and more where B = "
          "2F.",
      .requirements = {.min_ranks = 2,
                       .even_ranks = true,
                       .even_microbatches = true,
                       .min_microbatches_offset = 2,
                       .bidirectional = true,
                       .variants = {"direct", "doubling", "halving"},
                       .text = "even ranks, even microbatches"},
      .closed_forms = closed_forms(),
      .placement = bidirectional_placement,
      .emit = whatever_the_costs(emit),
      .period = [](const Params& params) { return params.ranks; },
  };
}

}  // namespace pipeloom::schedules
