// BitPipe: two copies of the model in opposite directions, each a V of two chunks a rank; slots that one V leaves idle are the
// other one's work.
//
// Source: Wu et al., "BitPipe: Bidirectional Interleaved Pipeline Parallelism for Accelerating Large Models Training" (2024,
// arXiv 2410.19367); the order of the authors' program, direct concatenation of units of p microbatches.
//
// p = 4, m = 8; F takes one column (two characters), B two; small letters are the second half of a V. Microbatches 0, 1, 4, 5
// go down from rank 0, the others from rank 3:
//
//   rank 0  F0F1  F2f2F3f3f0b0--f1b1--  b2--B2--b3--B3--B0--F4  B1--F5F6f6F7f7f4b4--f5b5--  b6--B6--b7--B7--B4--    B5--
//   rank 1    F0F2F1F3f2f0f3f1  b0--b2--b1--b3--B2--B0--B3--B1--F4F6  F5F7f6f4f7f5  b4--b6--b5--b7--B6--B4--B7--B5--
//   rank 2    F2F0F3F1f0f2f1f3  b2--b0--b3--b1--B0--B2--B1--B3--F6F4  F7F5f4f6f5f7  b6--b4--b7--b5--B4--B6--B5--B7--
//   rank 3  F2F3  F0f0F1f1f2b2--f3b3--  b0--B0--b1--B1--B2--F6  B3--F7F4f4F5f5f6b6--f7b7--  b4--B4--b5--B5--B6--    B7--
//
// Slots of one F or one B: stage s runs F of a direction's j-th microbatch in slot s + 2j, and B in slot 4p - 1 - s + 2j; the next
// p microbatches follow 4p slots later. No two passes of a rank meet: those of one direction have slots of the other parity.
//
// Requires: p even, m even; a last unit that is short has half of its microbatches on each V.
//
// Closed forms, equal stages, no transfers, F and B per chunk pass: makespan (4m + p - 2) F if F = B; peak_live
// 3p/2 + 1 + min(r, p - 1 - r) chunk passes. Both where p divides m.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "schedules/closed_form.hpp"
#include "schedules/queue_builder.hpp"
#include "schedules/registry.hpp"
#include "schedules/stack_rules.hpp"

namespace pipeloom::schedules {
namespace {

/// Replica 0 is the V that begins on rank 0, replica 1 the one that begins on rank p - 1.
Placement two_vs(const Params& params) {
  const int p = params.ranks;
  std::vector<Rank> rank_of_slot;
  for (const bool down : {true, false})
    for (int s = 0; s < 2 * p; ++s) {
      const int from_entry = s < p ? s : 2 * p - 1 - s;
      rank_of_slot.emplace_back(down ? from_entry : p - 1 - from_entry);
    }
  return Placement::custom(p, 2 * p, 2, std::move(rank_of_slot));
}

/// Where a microbatch runs: its unit, its V, and its place among the unit's microbatches on that V.
struct Way {
  int unit = 0;
  bool down = false;
  int place = 0;
};
Way way_of(const Params& params, int microbatch) {
  const int p = params.ranks;
  const int unit = microbatch / p;
  const int half = std::min(p, params.microbatches - unit * p) / 2;
  const int in_unit = microbatch % p;
  return {unit, in_unit < half, in_unit < half ? in_unit : in_unit - half};
}

/// A pass and its slot.
struct SlottedOp {
  std::int64_t slot = 0;
  Op op;
};

/// The passes of the rank's four chunks with their slots, in any order.
std::vector<SlottedOp> passes_of(const Params& params, int rank) {
  const int p = params.ranks;
  std::vector<SlottedOp> out;
  out.reserve(op_count(4, params.microbatches, 1));
  for (int k = 0; k < params.microbatches; ++k) {
    const Way way = way_of(params, k);
    const int from_entry = way.down ? rank : p - 1 - rank;
    const std::int64_t begin = std::int64_t{way.unit} * 4 * p + std::int64_t{2} * way.place;
    for (const int s : {from_entry, 2 * p - 1 - from_entry}) {
      out.push_back({begin + s, forward(Stage(s), Microbatch(k))});
      out.push_back({begin + std::int64_t{4} * p - 1 - s, backward(Stage(s), Microbatch(k))});
    }
  }
  return out;
}

Schedule emit(const Params& params) {
  const int p = params.ranks;
  const int m = params.microbatches;
  std::vector<std::uint8_t> replica_of_microbatch;
  for (int k = 0; k < m; ++k) replica_of_microbatch.push_back(way_of(params, k).down ? 0 : 1);

  ScheduleBuilder out(two_vs(params), m, std::move(replica_of_microbatch));
  out.reserve(op_count(2 * p, m, 2));
  for (int r = 0; r < p; ++r) {
    out.begin_rank(Rank(r));
    std::vector<SlottedOp> passes = passes_of(params, r);
    std::ranges::sort(passes, {}, &SlottedOp::slot);
    for (const SlottedOp& pass : passes) out.add(pass.op);
  }
  return std::move(out).build();
}

bool whole_units(const Params& params) {
  return params.microbatches % params.ranks == 0;
}

std::vector<ClosedForm> closed_forms() {
  return {
      time_form("makespan", "(4m + p - 2) F, F per chunk", "equal stages, no transfers, F = B, p divides m",
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  if (costs.forward != costs.backward || !whole_units(params)) return std::nullopt;
                  return (4 * std::int64_t{params.microbatches} + params.ranks - 2) * costs.forward;
                }),
      order_form("peak_live", "3p/2 + 1 + min(r, p - 1 - r)", "p divides m",
                 [](const Params& params, Rank rank) -> Value {
                   const int p = params.ranks;
                   if (!whole_units(params)) return std::nullopt;
                   return 3 * p / 2 + 1 + std::min(rank.value(), p - 1 - rank.value());
                 }),
  };
}

}  // namespace

Generator bitpipe() {
  return {
      .name = "bitpipe",
      .aliases = {alias("bitpipe-direct", {.stack = "BitPipe", .whole_rounds = true})},
      .summary = "two model copies in opposite directions, each on a V of two chunks a rank",
      .source = "Wu et al. 2024, BitPipe, arXiv 2410.19367; its program, direct concatenation",
      .when_to_use =
          "Few microbatches per rank and room for two copies of the model: idles less than chimera, for "
          "twice the transfers. "
          "Made for F = B.",
      .requirements = {.min_ranks = 2,
                       .even_ranks = true,
                       .min_chunks = 2,
                       .max_chunks = 2,
                       .default_chunks = 2,
                       .even_microbatches = true,
                       .min_microbatches_offset = 2,
                       .bidirectional = true,
                       .text = "even ranks, even microbatches, 2 chunks"},
      .closed_forms = closed_forms(),
      .placement = two_vs,
      .emit = whatever_the_costs(emit),
      .period = [](const Params& params) { return params.ranks; },
  };
}

}  // namespace pipeloom::schedules
