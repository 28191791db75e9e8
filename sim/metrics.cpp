#include "sim/metrics.hpp"

#include <algorithm>

#include "sim/simulator.hpp"
#include "sim/tick_sum.hpp"

namespace pipeloom {
namespace {

RankMetrics measure_rank(const Timeline& timeline, Rank rank) {
  const Schedule& schedule = *timeline.schedule;
  RankMetrics metrics;
  const Span window = span_of(timeline, rank);
  metrics.first_start = window.start;
  metrics.last_end = window.end;
  for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                 [&](std::size_t first, std::size_t last) {
                   if (is_copy(schedule.ops()[first].kind())) return;  // beside the rank's work
                   Ticks end = timeline.end_of(first);
                   for (std::size_t i = first + 1; i < last; ++i) end = std::max(end, timeline.end_of(i));
                   metrics.busy += end - timeline.start_of(first);
                 });
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
  metrics.makespan = span_of(timeline).length();
  metrics.num_ops = schedule.num_ops();
  metrics.num_entries = schedule.num_entries();
  const auto causes = facts != nullptr ? facts->idle_causes : idle_causes(timeline, costs);
  const auto peaks = measure_memory(timeline, memory);
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    RankMetrics& own = metrics.ranks.emplace_back(measure_rank(timeline, rank));
    own.idle = metrics.makespan - own.busy;
    own.idle_causes = causes[rank.at()];
    own.memory = peaks[rank.at()];
  }
  add_totals(metrics);
  const bool barrier = steps.rule == StepRule::Barrier;
  metrics.steady_period = barrier            ? metrics.makespan + steps.optimizer
                          : facts != nullptr ? facts->steady_period
                                             : steady_period(schedule, costs, steps);
  metrics.step_time = metrics.steady_period;
  return metrics;
}

}  // namespace pipeloom
