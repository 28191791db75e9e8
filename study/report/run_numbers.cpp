#include "study/report/run_numbers.hpp"

#include <algorithm>

#include "sim/io/config/effective_config.hpp"
#include "sim/kind_masks.hpp"

namespace pipeloom::study {
namespace {

TimelineFacts facts_of(const Metrics& metrics) {
  TimelineFacts facts;
  facts.makespan = metrics.makespan;
  for (const RankMetrics& rank : metrics.ranks) {
    facts.busy += rank.busy;
    facts.idle += rank.idle;
  }
  return facts;
}

}  // namespace

TimelineFacts facts_of(const Timeline& timeline) {
  TimelineFacts facts;
  const Schedule& schedule = *timeline.schedule;
  facts.makespan = span_of(timeline).length();
  for_each_entry(schedule, 0, schedule.num_ops(), [&](std::size_t first, std::size_t last) {
    if (is_copy(schedule.ops()[first].kind())) return;
    Ticks start = timeline.start[first];
    Ticks end = timeline.end[first];
    for (std::size_t op = first; op < last; ++op) {
      start = std::min(start, timeline.start[op]);
      end = std::max(end, timeline.end[op]);
    }
    facts.busy += end - start;
  });
  facts.idle = TickSum::times(facts.makespan, schedule.ranks()) - facts.busy;
  return facts;
}

const TimelineFacts& RunNumbers::facts() const {
  if (!kept_facts) kept_facts = metrics != nullptr ? facts_of(*metrics) : study::facts_of(*timeline);
  return *kept_facts;
}

double RunNumbers::in_bytes(Bytes units) const {
  return memory == nullptr ? static_cast<double>(units) : memory->in_bytes(units);
}

RunNumbers numbers_of(const Run& run) {
  return {run.metrics ? &*run.metrics : nullptr, &run.timeline, run.memory.get(),
          run.effective ? &run.effective->step : nullptr, run.idle.empty() ? nullptr : &run.idle};
}

}  // namespace pipeloom::study
