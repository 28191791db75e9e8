// Interlaced pipeline: 1F1B in which all ranks stop for the output layer of each microbatch and run it together, as tensor parallelism
// would: S, the sum over all ranks, T, the sum over all ranks.
//
// Source: Lin et al., "nnScaler" (OSDI 2024), interlaced pipeline; the order of the Megatron-LM branch of Yeung et al. 2025 (arXiv 2411.05288), which
// compares with it.
//
// p = 4, m = 8:
//
//   rank 0  F0F1F2F3F4F5 S0T0 S1T1 S2T2 S3T3 B0S4T4 F6B1S5T5 F7B2S6T6 B3S7T7 B4B5B6B7
//
// Requires: any p, m.
//
// Closed forms: peak_live min(m, 3p div 2 - r).

#include <algorithm>

#include "schedules/closed_form.hpp"
#include "schedules/placements.hpp"
#include "schedules/queue_builder.hpp"
#include "schedules/registry.hpp"

namespace pipeloom::schedules {
namespace {

/// A rank's queue while it grows; every kind takes its microbatches in turn.
class InterlacedQueue {
 public:
  InterlacedQueue(ScheduleBuilder& out, Stage stage) : out_(out), stage_(stage) {}

  void forward() { out_.add({OpKind::Forward, stage_, Microbatch(forwards_++)}); }
  void backward() { out_.add({OpKind::Backward, stage_, Microbatch(backwards_++)}); }
  void output() {
    const Microbatch k(outputs_++);
    out_.add({OpKind::Output, stage_, k});
    out_.add({OpKind::OutputWeight, stage_, k});
  }

 private:
  ScheduleBuilder& out_;
  Stage stage_;
  int forwards_ = 0;
  int backwards_ = 0;
  int outputs_ = 0;
};

void emit_rank(const Params& params, int rank, ScheduleBuilder& out) {
  const int p = params.ranks;
  const int m = params.microbatches;
  const int warmup = std::min(3 * p / 2 - rank, m);
  const int cooldown = std::min(p - rank, m);
  const int waiting = std::max(0, warmup - cooldown - (p - rank - 1) / 2);
  const bool forward_first = rank % 2 == p % 2;

  out.begin_rank(Rank(rank));
  InterlacedQueue queue(out, Stage(rank));
  // 1. F0 F1 ..                                          warmup forwards
  for (int k = 0; k < warmup; ++k) queue.forward();
  // 2. (S T) ..                                          until the first B is there
  for (int k = 0; k < cooldown; ++k) queue.output();
  // 3. B (S T)                                           while neighbours still warm up
  for (int k = 0; k < waiting; ++k) {
    queue.backward();
    queue.output();
  }
  // 4. F B (S T), or B F (S T) on every other rank       m - warmup
  for (int k = 0; k < m - warmup; ++k) {
    if (forward_first) queue.forward();
    queue.backward();
    if (!forward_first) queue.forward();
    queue.output();
  }
  // 5. B (S T)                                           what is left of the output layer
  for (int k = 0; k < warmup - cooldown - waiting; ++k) {
    queue.backward();
    queue.output();
  }
  // 6. B ..                                              cooldown backwards
  for (int k = 0; k < cooldown; ++k) queue.backward();
}

Schedule emit(const Params& params) {
  ScheduleBuilder out(linear_placement(params), params.microbatches);
  out.reserve(op_count(params.ranks, params.microbatches, 4));
  for (int r = 0; r < params.ranks; ++r) emit_rank(params, r, out);
  return std::move(out).build();
}

}  // namespace

Generator vocab_interlaced() {
  return {
      .name = "vocab-interlaced",
      .aliases = {{.name = "interlaced", .dialect = "nnScaler"}},
      .summary = "1f1b in which all ranks run the output layer of each microbatch together",
      .source =
          "Lin et al. 2024, nnScaler, interlaced pipeline; the baseline of Yeung et al. 2025, arXiv "
          "2411.05288",
      .when_to_use =
          "Ranks are close to each other (one node) and memory allows 1.5 p microbatches in flight. Its "
          "collectives "
          "are not hidden: count them in costs.output and costs.output_weight.",
      .requirements = {.shares_output = true, .text = "any ranks, any microbatches"},
      .closed_forms = {order_form("peak_live", "min(m, 3p div 2 - r)", "",
                                  [](const Params& params, Rank rank) -> Value {
                                    return std::min(params.microbatches, 3 * params.ranks / 2 - rank.value());
                                  })},
      .placement = linear_placement,
      .emit = whatever_the_costs(emit),
      .period = repeats_every(1),
  };
}

}  // namespace pipeloom::schedules
