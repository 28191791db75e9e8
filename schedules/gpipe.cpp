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
// Variant v has two chunks per rank on a V, stages r and 2p-1-r: all forwards of chunk 0, then of chunk 1, then all
// backwards of chunk 1, then of chunk 0. First and last stage are on one rank, and the time is the same.
//
// Requires: any p, m; one chunk, or two for variant v.
//
// Closed forms, F and B per chunk pass, equal stages, no transfers: makespan v(m + p - 1)(F + B), idle
// v(p - 1)(F + B), peak_live m v on every rank.

#include "schedules/closed_form.hpp"
#include "schedules/placements.hpp"
#include "schedules/queue_builder.hpp"
#include "schedules/registry.hpp"

namespace pipeloom::schedules {
namespace {

bool is_v(const Params& params) {
  return params.options.variant == "v";
}

Schedule emit(const Params& params) {
  const int p = params.ranks;
  const int m = params.microbatches;
  const int v = params.chunks;

  ScheduleBuilder out(wave_placement(params), m);
  out.reserve(op_count(p * v, m, 2));
  for (Rank rank{0}; rank < Rank(p); ++rank) {
    out.begin_rank(rank);
    const auto stages = out.placement().stages_of(rank);
    // 1. F0 .. F(m-1), chunk by chunk                      m v forwards
    for (auto s = stages.begin(); s != stages.end(); ++s)
      for (int k = 0; k < m; ++k) out.add(forward(*s, Microbatch(k)));
    // 2. B0 .. B(m-1), from the last chunk                 m v backwards
    for (auto s = stages.rbegin(); s != stages.rend(); ++s)
      for (int k = 0; k < m; ++k) out.add(backward(*s, Microbatch(k)));
  }
  return std::move(out).build();
}

bool accepts(const Params& params) {
  return params.chunks == (is_v(params) ? 2 : 1);
}

std::string reason(const Params& params) {
  if (accepts(params)) return "";
  return is_v(params) ? "has two chunks per rank as variant v: set chunks = 2"
                      : "has one chunk per rank, or two with variant = v";
}

void take_v(Params& params) {
  if (!params.options.variant.empty()) return;
  params.options.variant = "v";
  params.chunks = 2;
}

std::vector<ClosedForm> closed_forms() {
  return {
      time_form("makespan", "v(m + p - 1)(F + B), F and B per chunk", "equal stages, no transfers",
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  const std::int64_t slots = params.microbatches + params.ranks - 1;
                  return params.chunks * slots * (costs.forward + costs.backward);
                }),
      time_form("idle", "v(p - 1)(F + B), so that bubble_overhead = (p - 1)/m", "equal stages, no transfers",
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  return std::int64_t{params.chunks} * (params.ranks - 1) * (costs.forward + costs.backward);
                }),
      order_form("peak_live", "m v", "",
                 [](const Params& params, Rank) -> Value {
                   return std::int64_t{params.microbatches} * params.chunks;
                 }),
  };
}

}  // namespace

Generator gpipe() {
  return {
      .name = "gpipe",
      .aliases = {{.name = "GPipe", .dialect = "PyTorch"},
                  {.name = "afab", .dialect = "Llama 3"},
                  {.name = "all-forward-all-backward", .dialect = "Llama 3"},
                  {.name = "gpipe-v", .dialect = "a V placement", .defaults = take_v},
                  {.name = "FThenB", .dialect = "Paddle"},
                  {.name = "sched_gpipe", .dialect = "nnscaler"},
                  {.name = "gpipe_forward_backward", .dialect = "Galvatron"}},
      .summary = "all forwards, then all backwards",
      .source = "Huang et al. 2018, GPipe, arXiv 1811.06965, section 2.2",
      .when_to_use =
          "The baseline. As fast as 1f1b, but every rank holds the activations of all m microbatches.",
      .requirements = {.max_chunks = 2,
                       .variants = {"linear", "v"},
                       .variant_chunks = {1, 2},
                       .text = "any ranks, any microbatches; 2 chunks as variant v, else 1"},
      .closed_forms = closed_forms(),
      .placement = wave_placement,
      .emit = whatever_the_costs(emit),
      .predicate = reason,
      .accepts = accepts,
  };
}

}  // namespace pipeloom::schedules
