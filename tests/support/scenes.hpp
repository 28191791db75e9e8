#pragma once

// Small worlds for tests: schedules from their text, costs in whole ticks, times as text.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/engine/simulator.hpp"

namespace pipeloom::test {

/// parse_schedule, as a Timeline wants it.
inline std::shared_ptr<const Schedule> scene(const std::string& text) {
  return std::make_shared<const Schedule>(parse_schedule(text));
}

/// Times of one step under the same costs on every stage.
inline Timeline times_in(const std::shared_ptr<const Schedule>& schedule, const UniformCosts& costs) {
  return simulate(schedule, uniform_costs(schedule->placement(), costs));
}

/// "0F0 0-1, 1F0 1-3": every op with start and end, in queue order, rank by rank.
inline std::string times_of(const Timeline& timeline) {
  std::string text;
  for (std::size_t i = 0; i < timeline.schedule->num_ops(); ++i)
    text += (i == 0 ? "" : ", ") + to_text(timeline.schedule->ops()[i]) + " " +
            std::to_string(timeline.start_of(i)) + "-" + std::to_string(timeline.end_of(i));
  return text;
}
inline std::string times_of(const std::string& text, const UniformCosts& costs) {
  return times_of(times_in(scene(text), costs));
}

/// 1F1B: p - 1 - r forwards to warm up, then forward and backward in turn, then the backwards that are left.
inline std::shared_ptr<const Schedule> one_f_one_b(int ranks, int microbatches) {
  ScheduleBuilder out(Placement::linear(ranks), microbatches);
  for (int r = 0; r < ranks; ++r) {
    out.begin_rank(Rank(r));
    const int warmup = std::min(ranks - 1 - r, microbatches);
    for (int k = 0; k < warmup; ++k) out.add(forward(Stage(r), Microbatch(k)));
    for (int k = warmup; k < microbatches; ++k) {
      out.add(forward(Stage(r), Microbatch(k)));
      out.add(backward(Stage(r), Microbatch(k - warmup)));
    }
    for (int k = microbatches - warmup; k < microbatches; ++k) out.add(backward(Stage(r), Microbatch(k)));
  }
  return std::make_shared<const Schedule>(std::move(out).build());
}

}  // namespace pipeloom::test
