#include "schedules/dualpipe_steps.hpp"

namespace pipeloom::schedules {
namespace {

/// F0 means the next forward of lane 0, and so on. Steps 1 to 3.
void warm_up(const DualPipeRank& where, QueueBuilder& queue) {
  const int h = where.half;
  const int d = where.depth;
  // 1. F0                                                  2(h - d - 1) times
  for (int i = 0; i < 2 * (h - d - 1); ++i) queue.forward(0);
  // 2. F0 F1                                               d + 1 times
  for (int i = 0; i < d + 1; ++i) {
    queue.forward(0);
    queue.forward(1);
  }
  // 3. I1 W F1                                             h - d - 1 times
  for (int i = 0; i < h - d - 1; ++i) {
    if (where.style == DualPipeStyle::Whole) {
      queue.backward(1);
    } else {
      queue.backward_input(1);
      queue.backward_weight();
    }
    queue.forward(1);
  }
}

/// F of one lane, B of the other.
void add_pair(const DualPipeRank& where, std::size_t forward_lane, std::size_t backward_lane,
              QueueBuilder& queue) {
  if (where.style == DualPipeStyle::BackwardFirst) queue.backward(backward_lane);
  if (where.style == DualPipeStyle::Pairs || where.style == DualPipeStyle::WeightsLast)
    return queue.pair(forward_lane, backward_lane);
  queue.forward(forward_lane);
  if (where.style == DualPipeStyle::Whole) queue.backward(backward_lane);
}

/// Steps 4 and 5.
void steady(const DualPipeRank& where, QueueBuilder& queue) {
  const int h = where.half;
  const int d = where.depth;
  const int n = where.microbatches;
  // 4. (F0;B1) (F1;B0)                                     n - 2h + d + 1 times
  for (int i = 0; i < n - 2 * h + d + 1; ++i) {
    // The innermost rank waits for no other rank: its first B1 follows its own F1 at once.
    if (i == 0 && d == h - 1 && where.style != DualPipeStyle::BackwardFirst) {
      queue.forward(0);
      queue.backward(1);
    } else {
      add_pair(where, 0, 1, queue);
    }
    add_pair(where, 1, 0, queue);
  }
  // 5. B1 (F1;B0)                                          h - d - 1 times
  for (int i = 0; i < h - d - 1; ++i) {
    queue.backward(1);
    add_pair(where, 1, 0, queue);
  }
}

/// True if backward i of the 2(d + 1) backwards of step 6 is whole: a B, not I and W.
bool is_whole(const DualPipeRank& where, int i) {
  const int split = i - where.depth - 1;  // the first that DeepSeek splits is 0
  if (split < 0 || where.style == DualPipeStyle::Whole) return true;
  return where.style == DualPipeStyle::WeightsLast && (where.depth == 0 || split % 2 == 1);
}

/// Steps 6 to 8.
void cool_down(const DualPipeRank& where, QueueBuilder& queue) {
  const int h = where.half;
  const int d = where.depth;
  const bool outermost = d == 0;
  const bool splits =
      where.style != DualPipeStyle::Whole && !(outermost && where.style == DualPipeStyle::WeightsLast);
  const bool weights_between =
      where.style == DualPipeStyle::Pairs || (where.style == DualPipeStyle::BackwardFirst && !outermost);
  // 6. B1 B0, the last d + 1 of these 2(d + 1) as I        d + 1 times
  for (int i = 0; i < 2 * (d + 1); ++i) {
    const std::size_t lane = i % 2 == 0 ? 1 : 0;
    if (is_whole(where, i))
      queue.backward(lane);
    else
      queue.backward_input(lane);
  }
  // 7. W I0                                                h - d - 1 times
  for (int i = 0; i < h - d - 1; ++i) {
    if (weights_between) queue.backward_weight();
    if (splits)
      queue.backward_input(0);
    else
      queue.backward(0);
  }
  // 8. W                                                   those left: d + 1
  while (queue.has_weights()) queue.backward_weight();
}

/// The order in which a rank's W's leave.
WeightOrder weight_order(DualPipeStyle style) {
  switch (style) {
    case DualPipeStyle::BackwardFirst:
      return WeightOrder::Lanes;
    case DualPipeStyle::WeightsLast:
      return WeightOrder::Microbatches;
    case DualPipeStyle::Pairs:
    case DualPipeStyle::Whole:
      break;
  }
  return WeightOrder::Inputs;
}

}  // namespace

void emit_dualpipe_steps(const DualPipeRank& where, QueueBuilder& queue) {
  queue.order_weights(weight_order(where.style));
  warm_up(where, queue);
  steady(where, queue);
  cool_down(where, queue);
}

Value dualpipe_makespan(int half, int microbatches, const UniformCosts& costs) {
  const std::int64_t h = half;
  const std::int64_t n = microbatches;
  const Ticks f = costs.forward;
  const Ticks b = costs.backward;
  const Ticks i = costs.backward_input;
  const Ticks w = costs.backward_weight;
  const auto x = pair_duration(costs);
  if (!x || *x > f + b || b != i + w || w > i || i > f) return std::nullopt;
  const Ticks work = (2 * h + 1) * f + (h + 1) * b + h * (i + w) + (2 * n - 2 * h - 1) * *x;
  return work + (h - 1) * (*x + f - 2 * w);
}

}  // namespace pipeloom::schedules
