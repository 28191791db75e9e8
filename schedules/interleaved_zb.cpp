// Interleaved zero bubble: interleaved 1F1B with the backward split in two; the weight part W fills the drain.
//
// Source: PyTorch's ScheduleInterleavedZeroBubble (ZB1P on v chunks), after Qi et al., "Zero Bubble Pipeline
// Parallelism" (2023, arXiv 2401.10241), section 2. The order of the forwards and backwards is in
// interleaved_order.hpp; the warm-up is p - 1 - r forwards shorter than that of interleaved 1F1B.
//
// p = 4, m = 8, v = 2; F takes one column (two characters), I and W too; small letters are chunk 1:
//
//   rank 0  F0F1F2F3f0f1f2f3      i0w0F4i1w1F5i2w2F6i3w3F7I0W0f4I1W1f5I2W2f6I3W3f7i4w4i5w5i6w6i7w7I4W4I5W5I6W6I7W7
//   rank 1    F0F1F2F3f0f1f2    i0f3i1w0F4i2w1F5i3w2F6I0w3F7I1W0f4I2W1f5I3W2f6i4W3f7i5w4i6w5i7w6I4w7I5W4I6W5I7W6W7
//   rank 2      F0F1F2F3f0f1  i0f2i1f3i2w0F4i3w1F5I0w2F6I1w3F7I2W0f4I3W1f5i4W2f6i5W3f7i6w4i7w5I4w6I5w7I6W4I7W5W6W7
//   rank 3        F0F1F2F3f0i0f1i1f2i2f3i3w0F4I0w1F5I1w2F6I2w3F7I3W0f4i4W1f5i5W2f6i6W3f7i7w4I4w5I5w6I6w7I7W4W5W6W7
//
// Variant weights-last: all F, then all I, then all W, as Paddle's static graph splits the backwards of VPP; for m = p.
//
// Requires: any p, v, N >= 1, and an order that does not hang: two consecutive groups need p - 1 microbatches
// together (interleaved_order.hpp has the rule). N >= p that divides m is always fine.
//
// Closed forms, equal stages, no transfers, F, I and W per chunk pass, N >= p divides m, W <= F: max_window
// m v(F + I + W) + (p - 1)(F + I - W), which is the makespan too if W <= I; peak_live min(m v, (v - 1)N + p)
// chunk passes on every rank, any N.

#include <algorithm>

#include "schedules/closed_form.hpp"
#include "schedules/idle_cells.hpp"
#include "schedules/interleaved_order.hpp"
#include "schedules/placements.hpp"
#include "schedules/queue_builder.hpp"
#include "schedules/registry.hpp"
#include "schedules/stack_rules.hpp"

namespace pipeloom::schedules {
namespace {

/// min(m v, (v - 1) N + p - 1 - r): forwards of rank r before its first pair of F and I.
std::size_t warmup_of(const Params& params, Rank rank) {
  return static_cast<std::size_t>(interleaved_warmup(params, rank, rank.value() + 1 - params.ranks));
}

/// Paddle's VPP with split_backward: all F, then all I, then all W, each in the order of the rows.
bool has_weights_last(const Params& params) {
  return params.options.variant == "weights-last";
}

void add_weights_last(const InterleavedOrder& order, Rank rank, ScheduleBuilder& out) {
  for (std::size_t t = 0; t < order.length(); ++t) out.add(order.forward(t, rank));
  for (std::size_t t = 0; t < order.length(); ++t) out.add(order.backward_input(t, rank));
  for (std::size_t t = 0; t < order.length(); ++t) out.add(order.backward_weight(t, rank));
}

Schedule emit(const Params& params) {
  const int p = params.ranks;
  const int m = params.microbatches;
  const int v = params.chunks;

  const InterleavedOrder order(params);
  ScheduleBuilder out(loop_placement(params), m);
  out.reserve(op_count(p * v, m, 3));
  for (Rank rank{0}; rank < Rank(p); ++rank) {
    out.begin_rank(rank);
    if (has_weights_last(params)) {
      add_weights_last(order, rank, out);
      continue;
    }
    const std::size_t warmup = warmup_of(params, rank);
    const std::size_t delay = rank.at();  // each W comes r backwards after its I
    const auto input_then_weight = [&](std::size_t t) {
      out.add(order.backward_input(t, rank));
      if (t >= delay) out.add(order.backward_weight(t - delay, rank));
    };
    // 1. F of rows 0, 1, ..                                warmup forwards
    for (std::size_t t = 0; t < warmup; ++t) out.add(order.forward(t, rank));
    // 2. F of row t+warmup, I of row t, W of row t-r       m v - warmup times
    for (std::size_t t = 0; t < order.length() - warmup; ++t) {
      out.add(order.forward(t + warmup, rank));
      input_then_weight(t);
    }
    // 3. I of rows .., m v - 1, W of row t-r               warmup times
    for (std::size_t t = order.length() - warmup; t < order.length(); ++t) input_then_weight(t);
    // 4. W of rows .., m v - 1                             the min(m v, r) left
    for (std::size_t t = order.length() - std::min(order.length(), delay); t < order.length(); ++t)
      out.add(order.backward_weight(t, rank));
  }
  return std::move(out).build();
}

bool hangs(const Params& params) {
  return !has_weights_last(params) && groups_too_short(params, std::int64_t{params.ranks} - 2);
}

/// The blanks of PyTorch's rule before it aligns the ranks: r in front, p - 1 - r after the warm-up.
IdleCells ruled_cells(const Params& params, const Schedule& schedule) {
  IdleCells cells = no_idle_cells(schedule);
  for (Rank rank{0}; rank < Rank(params.ranks); ++rank) {
    const std::size_t warmup = warmup_of(params, rank);
    cells[rank.at()][0] = rank.value();
    if (warmup > 0) cells[rank.at()][warmup] += params.ranks - 1 - rank.value();
  }
  return cells;
}

/// One rank of the lock-step replay: its entry, and how many of the blanks in front of that are drawn.
struct Cursor {
  std::size_t entry = 0;
  std::int32_t blanks_drawn = 0;
};

/// PyTorch replays the rows in lock step, one cell a tick, and lets a forward wait, one blank a tick, until the stage
/// before it ran the microbatch in an earlier tick. Nothing else waits. Only with m < p does that add any blank.
class LockStep {
 public:
  LockStep(const Schedule& schedule, IdleCells& cells)
      : schedule_(&schedule),
        cells_(&cells),
        cursors_(static_cast<std::size_t>(schedule.ranks())),
        tick_of_forward_(op_count(schedule.stages(), schedule.microbatches(), 1), kNever) {}

  void run() {
    for (bool running = true; running; ++tick_) {
      running = false;
      for (Rank rank{0}; rank < Rank(schedule_->ranks()); ++rank) running |= step(rank);
    }
  }

 private:
  static constexpr std::int64_t kNever = -1;

  [[nodiscard]] std::int64_t& tick_of(Stage stage, Microbatch microbatch) {
    return tick_of_forward_[stage.at() * static_cast<std::size_t>(schedule_->microbatches()) +
                            microbatch.at()];
  }
  [[nodiscard]] bool must_wait(Op op) {
    if (op.kind() != OpKind::Forward || op.stage() == Stage(0)) return false;
    const std::int64_t before = tick_of(Stage(op.stage().value() - 1), op.microbatch());
    return before == kNever || before == tick_;
  }
  /// One cell of the rank's row; false at its end.
  bool step(Rank rank) {
    Cursor& cursor = cursors_[rank.at()];
    const auto queue = schedule_->queue(rank);
    if (cursor.entry == queue.size()) return false;
    std::int32_t& blanks = (*cells_)[rank.at()][cursor.entry];
    if (cursor.blanks_drawn < blanks) {
      ++cursor.blanks_drawn;
      return true;
    }
    const Op op = queue[cursor.entry];
    if (must_wait(op)) {
      ++blanks;
      ++cursor.blanks_drawn;
      return true;
    }
    if (op.kind() == OpKind::Forward) tick_of(op.stage(), op.microbatch()) = tick_;
    ++cursor.entry;
    cursor.blanks_drawn = 0;
    return true;
  }

  const Schedule* schedule_;
  IdleCells* cells_;
  std::vector<Cursor> cursors_;
  std::vector<std::int64_t> tick_of_forward_;
  std::int64_t tick_ = 0;
};

IdleCells idle_cells(const Params& params, const Schedule& schedule) {
  if (!has_pytorch_rounds(params) || has_weights_last(params)) return {};
  IdleCells cells = ruled_cells(params, schedule);
  LockStep(schedule, cells).run();
  return cells;
}

/// m v(F + I + W) + (p - 1)(F + I - W)
Value window(const Params& params, const UniformCosts& costs) {
  const std::int64_t p = params.ranks;
  const std::int64_t passes = std::int64_t{params.microbatches} * params.chunks;
  const int n = group_size_of(params);
  const Ticks f = costs.forward;
  const Ticks i = costs.backward_input;
  const Ticks w = costs.backward_weight;
  if (has_weights_last(params) || !has_equal_groups(params) || n < p || params.microbatches % n != 0 || w > f)
    return std::nullopt;
  return passes * (f + i + w) + (p - 1) * (f + i - w);
}

std::vector<ClosedForm> closed_forms() {
  const std::string formula = "m v(F + I + W) + (p - 1)(F + I - W), F, I and W per chunk";
  const std::string condition =
      "equal stages, no transfers, N >= p, m a multiple of N, W <= F; not weights-last";
  return {
      time_form("max_window", formula, condition,
                [](const Params& params, const UniformCosts& costs, Rank) { return window(params, costs); }),
      time_form("makespan", formula, condition + ", W <= I",
                [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                  if (costs.backward_weight > costs.backward_input) return std::nullopt;
                  return window(params, costs);
                }),
      order_form("peak_live", "min(m v, (v - 1) N + p); weights-last: m v", "",
                 [](const Params& params, Rank) -> Value {
                   if (has_weights_last(params)) return std::int64_t{params.microbatches} * params.chunks;
                   return interleaved_warmup(params, Rank(params.ranks - 1), params.ranks);
                 }),
  };
}

}  // namespace

Generator interleaved_zb() {
  return {
      .name = "interleaved-zb",
      .aliases = {{.name = "InterleavedZeroBubble",
                   .dialect = "PyTorch",
                   .defaults = pytorch_rounds("InterleavedZeroBubble")},
                  alias("VPP-split_backward",
                        {.stack = "Paddle's static graph", .one_round = true, .variant = "weights-last"})},
      .summary = "interleaved-1f1b with split backward: weight gradients fill the drain",
      .source = "PyTorch, ScheduleInterleavedZeroBubble, after Qi et al. 2023, arXiv 2401.10241",
      .when_to_use =
          "A v-th of zb-h1's idle time at the memory of p microbatches on every rank, for v times the "
          "transfers. zbv idles less still where two chunks are enough.",
      .requirements = {.max_chunks = kMaxIndex,
                       .default_chunks = 2,
                       .splits_backward = true,
                       .takes = {Option::GroupSize},
                       .variants = {"standard", "weights-last"},
                       .text = "two consecutive groups together have at least ranks - 1 microbatches"},
      .closed_forms = closed_forms(),
      .placement = loop_placement,
      .emit = whatever_the_costs(emit),
      .predicate = hang_rule(hangs, emit).predicate,
      .accepts = hang_rule(hangs, emit).accepts,
      .idle_cells = idle_cells,
      .period = [](const Params& params) { return params.chunks == 1 ? 1 : group_size_of(params); },
  };
}

}  // namespace pipeloom::schedules
