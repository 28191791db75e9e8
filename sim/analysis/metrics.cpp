#include "sim/analysis/metrics.hpp"

#include <algorithm>

#include "sim/analysis/bounds.hpp"
#include "sim/analysis/idle_causes.hpp"
#include "sim/base/tick_sum.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/memory.hpp"

namespace pipeloom {
namespace {

RankMetrics metrics_of(const RankTimes& times) {
  RankMetrics metrics;
  metrics.busy = times.busy;
  metrics.first_start = times.window.start;
  metrics.last_end = times.window.end;
  return metrics;
}

}  // namespace

void add_totals(Metrics& metrics) {
  TickSum busy;
  TickSum idle;
  Bytes most = -1;
  metrics.ideal_time = 0;
  metrics.max_window = 0;
  for (std::size_t r = 0; r < metrics.ranks.size(); ++r) {
    const RankMetrics& rank = metrics.ranks[r];
    busy += rank.busy;
    idle += rank.idle;
    metrics.ideal_time = std::max(metrics.ideal_time, rank.busy);
    metrics.max_window = std::max(metrics.max_window, rank.window());
    if (rank.memory.peak_bytes <= most) continue;
    most = rank.memory.peak_bytes;
    metrics.peak_rank = Rank(static_cast<std::int32_t>(r));
  }
  metrics.bubble_ratio = share_of(idle, busy + idle);  // busy + idle = p * makespan
  metrics.bubble_overhead = share_of(idle, busy);
  metrics.window_bubble_ratio = share_of(metrics.max_window - metrics.ideal_time, metrics.max_window);
}

void add_step_times(Metrics& metrics, const Schedule& schedule, const Costs& costs, const Steps& steps,
                    const RunFacts* facts) {
  const bool barrier = steps.rule == StepRule::Barrier;
  metrics.steady_period = barrier            ? metrics.makespan + steps.optimizer
                          : facts != nullptr ? facts->period
                                             : steady_period(schedule, costs, steps);
  metrics.step_time = metrics.steady_period;
}

Metrics measure(const Timeline& timeline, const Costs& costs, const MemoryModel& memory, const Steps& steps,
                const RunFacts* facts) {
  Metrics metrics = measure_times(timeline, costs, memory, steps, facts);
  metrics.lower_bound = lower_bound(*timeline.schedule, costs, steps);
  return metrics;
}

Metrics measure_times(const Timeline& timeline, const Costs& costs, const MemoryModel& memory,
                      const Steps& steps, const RunFacts* facts) {
  const Schedule& schedule = *timeline.schedule;
  Metrics metrics;
  metrics.num_ops = schedule.num_ops();
  metrics.num_entries = schedule.num_entries();
  const auto times = walk_ranks(timeline, facts != nullptr ? nullptr : &costs);
  const auto peaks = measure_memory(timeline, memory);
  metrics.makespan = times.whole.length();
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    RankMetrics& own = metrics.ranks.emplace_back(metrics_of(times.ranks[rank.at()]));
    own.idle = metrics.makespan - own.busy;
    own.idle_causes = facts != nullptr ? facts->idle_causes[rank.at()] : times.ranks[rank.at()].idle;
    own.memory = peaks[rank.at()];
  }
  add_totals(metrics);
  add_step_times(metrics, schedule, costs, steps, facts);
  return metrics;
}

}  // namespace pipeloom
