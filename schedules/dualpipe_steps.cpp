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
    queue.backward_input(1);
    queue.backward_weight();
    queue.forward(1);
  }
}

/// Steps 4 and 5.
void steady(const DualPipeRank& where, QueueBuilder& queue) {
  const int h = where.half;
  const int d = where.depth;
  const int n = where.microbatches;
  // 4. (F0;B1) (F1;B0)                                     n - 2h + d + 1 times
  for (int i = 0; i < n - 2 * h + d + 1; ++i) {
    // The innermost rank has nobody to wait for: its first B1 follows its own F1 at once.
    if (i == 0 && d == h - 1) {
      queue.forward(0);
      queue.backward(1);
    } else {
      queue.pair(0, 1);
    }
    queue.pair(1, 0);
  }
  // 5. B1 (F1;B0)                                          h - d - 1 times
  for (int i = 0; i < h - d - 1; ++i) {
    queue.backward(1);
    queue.pair(1, 0);
  }
}

/// Steps 6 to 8.
void cool_down(const DualPipeRank& where, QueueBuilder& queue) {
  const int h = where.half;
  const int d = where.depth;
  // 6. B1 B0, the last d + 1 of these 2(d + 1) as I        d + 1 times
  for (int i = 0; i < 2 * (d + 1); ++i) {
    const std::size_t lane = i % 2 == 0 ? 1 : 0;
    if (i < d + 1)
      queue.backward(lane);
    else
      queue.backward_input(lane);
  }
  // 7. W I0                                                h - d - 1 times
  for (int i = 0; i < h - d - 1; ++i) {
    queue.backward_weight();
    queue.backward_input(0);
  }
  // 8. W                                                   d + 1 times
  for (int i = 0; i < d + 1; ++i) queue.backward_weight();
}

}  // namespace

void emit_dualpipe_steps(const DualPipeRank& where, QueueBuilder& queue) {
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
