// ZB-V: zero bubble on a V placement. Rank r holds stage r and stage 2p-1-r, so that the backward of a microbatch
// starts on the rank where its forward ended, and every rank holds 1F1B's p microbatches. With F = I = W no rank
// idles between its first and its last op.
//
// Source: Qi et al., "Zero Bubble Pipeline Parallelism" (2023, arXiv 2401.10241), section 6 and figure 6; PyTorch's
// ScheduleZBVZeroBubble, whose order this is.
//
// p = 4, m = 8; F takes one column (two characters), I and W too; small letters are the upward arm, stage 2p-1-r:
//
//   rank 0  F0F1F2F3F4F5F6f0i0w0f1i1w1f2i2w2f3i3w3F7I0W0f4i4w4I1W1f5i5w5I2W2f6i6w6I3W3f7i7w7I4W4I5W5I6W6I7W7
//   rank 1    F0F1F2F3F4f0F5f1i0w0f2i1w1f3i2w2F6I0W0f4i3w3F7I1W1f5i4w4I2W2f6i5w5I3W3f7i6w6I4i7I5W4I6W5I7W6w7W7
//   rank 2      F0F1F2f0F3f1F4f2i0w0f3i1w1F5I0W0f4i2w2F6I1W1f5i3w3F7I2W2f6i4w4I3W3f7i5w5I4i6I5i7I6W4I7W5w6w7W6W7
//   rank 3        F0f0F1f1F2f2F3f3i0w0F4I0W0f4i1w1F5I1W1f5i2w2F6I2W2f6i3w3F7I3W3f7i4w4I4i5I5i6I6i7I7W4w5w6w7W5W6W7
//
// Requires: v = 2; any p, m. Below 2p - 1 microbatches the order is that of 2p - 1 without the ops of those that do
// not exist.
//
// Closed forms, equal stages, no transfers, F, I and W per chunk pass, m >= 2p - 1, W <= F <= I: max_window
// 2m(F + I + W) + 2(p - 1)(I - W); makespan 2m(F + I + W) + (p - 1) max(I, 2(I - W)). With F = I = W and transfers
// of L <= F/2, max_window grows by (6p - 8)L. peak_live 2p chunk passes on every rank.

#include <algorithm>

#include "schedules/closed_form.hpp"
#include "schedules/idle_cells.hpp"
#include "schedules/placements.hpp"
#include "schedules/queue_builder.hpp"
#include "schedules/registry.hpp"

namespace pipeloom::schedules {
namespace {

/// One rank of the order for n >= 2p - 1 microbatches.
struct ZbvRank {
  int ranks;
  int rank;
  int microbatches;  ///< n
  int wanted;        ///< m <= n: steps of which no op has a microbatch below m may be left out
};

/// Number of times to run a step that would run `times` times, its i-th time with microbatch first + i and later ones.
int clipped(const ZbvRank& at, int times, int first) {
  return std::min(times, std::max(0, at.wanted - first));
}

/// Steps 1 to 3. `op(kind, chunk, microbatch)` takes the ops; F, I, W are of chunk 0 and f, i, w of chunk 1.
template <class Sink>
void warm_up(const ZbvRank& at, const Sink& op) {
  const int p = at.ranks;
  const int r = at.rank;
  // 1. F                                                   2(p - r) - 1 times
  const int lead = 2 * (p - r) - 1;
  for (int i = 0; i < clipped(at, lead, 0); ++i) op(OpKind::Forward, 0, i);
  // 2. f F                                                 r times
  for (int i = 0; i < clipped(at, r, 0); ++i) {
    op(OpKind::Forward, 1, i);
    op(OpKind::Forward, 0, lead + i);
  }
  // 3. f i w                                               p - r times
  for (int i = 0; i < clipped(at, p - r, 0); ++i) {
    op(OpKind::Forward, 1, r + i);
    op(OpKind::BackwardInput, 1, i);
    op(OpKind::BackwardWeight, 1, i);
  }
}

/// Step 4.
template <class Sink>
void steady(const ZbvRank& at, const Sink& op) {
  const int p = at.ranks;
  const int r = at.rank;
  const int n = at.microbatches;
  // 4. F if one is left, I W f i w                         n - p times, until no f is left
  for (int i = 0; i < clipped(at, n - p, 0); ++i) {
    if (2 * p - r - 1 + i < n) op(OpKind::Forward, 0, 2 * p - r - 1 + i);
    op(OpKind::BackwardInput, 0, i);
    op(OpKind::BackwardWeight, 0, i);
    op(OpKind::Forward, 1, p + i);
    op(OpKind::BackwardInput, 1, p - r + i);
    op(OpKind::BackwardWeight, 1, p - r + i);
  }
}

/// Steps 5 to 8.
template <class Sink>
void cool_down(const ZbvRank& at, const Sink& op) {
  const int p = at.ranks;
  const int r = at.rank;
  const int n = at.microbatches;
  // 5. I i                                                 r times
  for (int i = 0; i < clipped(at, r, n - p); ++i) {
    op(OpKind::BackwardInput, 0, n - p + i);
    op(OpKind::BackwardInput, 1, n - r + i);
  }
  // 6. I W                                                 p - r times; W comes r microbatches after its I
  for (int i = 0; i < clipped(at, p - r, n - p); ++i) {
    op(OpKind::BackwardInput, 0, n - p + r + i);
    op(OpKind::BackwardWeight, 0, n - p + i);
  }
  // 7. w                                                   the r left
  for (int k = n - r; k < n - r + clipped(at, r, n - r); ++k) op(OpKind::BackwardWeight, 1, k);
  // 8. W                                                   the r left
  for (int k = n - r; k < n - r + clipped(at, r, n - r); ++k) op(OpKind::BackwardWeight, 0, k);
}

template <class Sink>
void emit_rank(const ZbvRank& at, const Sink& op) {
  warm_up(at, op);
  steady(at, op);
  cool_down(at, op);
}

/// n = max(m, 2p - 1).
int ruled_microbatches(const Params& params) {
  return std::max(params.microbatches, 2 * params.ranks - 1);
}

Schedule emit(const Params& params) {
  const int p = params.ranks;
  const int m = params.microbatches;

  ScheduleBuilder out(v_placement(params), m);
  out.reserve(op_count(2 * p, m, 3));
  for (int r = 0; r < p; ++r) {
    out.begin_rank(Rank(r));
    const Stage stages[] = {Stage(r), Stage(2 * p - 1 - r)};
    emit_rank({.ranks = p, .rank = r, .microbatches = ruled_microbatches(params), .wanted = m},
              [&](OpKind kind, std::size_t chunk, int k) {
                if (k < m) out.add({kind, stages[chunk], Microbatch(k)});
              });
  }
  return std::move(out).build();
}

/// PyTorch draws r blanks in front, and one for each op of a microbatch that does not exist.
IdleCells idle_cells(const Params& params, const Schedule& schedule) {
  const int n = ruled_microbatches(params);
  IdleCells cells = no_idle_cells(schedule);
  for (int r = 0; r < params.ranks; ++r) {
    auto& blanks = cells[Rank(r).at()];
    blanks[0] = r;
    std::size_t entry = 0;
    emit_rank({.ranks = params.ranks, .rank = r, .microbatches = n, .wanted = n},
              [&](OpKind, std::size_t, int k) {
                if (k < params.microbatches)
                  ++entry;
                else
                  ++blanks[entry];
              });
  }
  return cells;
}

/// 2m(F + I + W), or nothing where the closed forms do not hold.
Value work(const Params& params, const UniformCosts& costs) {
  const Ticks f = costs.forward;
  const Ticks i = costs.backward_input;
  const Ticks w = costs.backward_weight;
  if (params.microbatches < 2 * params.ranks - 1 || w > f || f > i) return std::nullopt;
  const Ticks pass = f + i + w;
  return params.microbatches * (2 * pass);
}

std::vector<ClosedForm> closed_forms() {
  const std::string condition = "equal stages, no transfers, m >= 2p - 1, W <= F <= I";
  return {
      time_form("max_window", "2m(F + I + W) + 2(p - 1)(I - W), F, I and W per chunk", condition,
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  const auto busy = work(params, costs);
                  if (!busy) return std::nullopt;
                  const Ticks held_up = costs.backward_input - costs.backward_weight;
                  return *busy + (params.ranks - 1) * (2 * held_up);
                }),
      time_form("makespan", "2m(F + I + W) + (p - 1) max(I, 2(I - W))", condition,
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  const auto busy = work(params, costs);
                  if (!busy) return std::nullopt;
                  const Ticks i = costs.backward_input;
                  return *busy + (params.ranks - 1) * std::max(i, 2 * (i - costs.backward_weight));
                }),
      latency_form("max_window", "6 m F + max(0, 6p - 8) L",
                   "equal stages, m >= 2p - 1, F = I = W, transfers of L <= F/2",
                   [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                     const auto busy = work(params, costs);
                     if (!busy || !equal_passes(costs) || 2 * costs.delay > costs.forward)
                       return std::nullopt;
                     return *busy + std::max(0, 6 * params.ranks - 8) * costs.delay;
                   }),
      order_form("peak_live", "2p", "m >= 2p - 1",
                 [](const Params& params, Rank) -> Value {
                   if (params.microbatches < 2 * params.ranks - 1) return std::nullopt;
                   return 2 * params.ranks;
                 }),
  };
}

}  // namespace

Generator zbv() {
  return {
      .name = "zbv",
      .aliases = {{.name = "ZBVZeroBubble", .dialect = "PyTorch"}},
      .summary = "zero bubble on a V placement: two chunks per rank, 1f1b's memory on every rank",
      .source = "Qi et al. 2023, Zero Bubble Pipeline Parallelism, arXiv 2401.10241, section 6; PyTorch",
      .when_to_use =
          "F, I and W about equal and fast links: no idle time inside a rank's window, and no rank holds "
          "more than p microbatches. The first rank holds both the embedding and the head. Wants m >= 2p - "
          "1.",
      .requirements = split_v_requirements("2 chunks; any ranks, any microbatches"),
      .closed_forms = closed_forms(),
      .placement = v_placement,
      .emit = whatever_the_costs(emit),
      .idle_cells = idle_cells,
      .period = repeats_every(1),
  };
}

}  // namespace pipeloom::schedules
