#include "sim/simulator.hpp"

#include <algorithm>
#include <numeric>

#include "sim/cursor_engine.hpp"
#include "sim/error.hpp"

namespace pipeloom {
namespace {

__extension__ using Wide = __int128;

Wide longest_of(const std::vector<Ticks>& table) {
  return table.empty() ? 0 : *std::max_element(table.begin(), table.end());
}

Wide longest_delay(const Costs& costs) {
  return std::max(longest_of(costs.forward_delay), longest_of(costs.backward_delay));
}

/// No chain of entries can pass kMaxTicks. Cheap bound first; where that is too coarse, all work and all delays added up, which
/// no chain exceeds either.
void require_times_fit(const Schedule& schedule, const Costs& costs) {
  if (times_fit_easily(schedule, costs)) return;
  const Wide delay = longest_delay(costs);
  Wide sum = 0;
  for_each_entry(schedule, 0, schedule.num_ops(), [&](std::size_t first, std::size_t last) {
    sum += costs.entry_duration(schedule, first, last) + delay;
  });
  if (sum >= kMaxTicks)
    throw InputError(
        "the times of this run add up to more than 2^62 ticks (53 days at picosecond resolution); use "
        "shorter durations "
        "or fewer microbatches");
}

}  // namespace

/// Entries * (longest duration + longest delay).
bool times_fit_easily(const Schedule& schedule, const Costs& costs) {
  Wide longest = longest_of(costs.overlap.duration);
  for (const auto& table : costs.duration)
    longest = std::max(longest, 2 * longest_of(table));  // a pair's sum
  if (!costs.microbatch_scale.empty())
    longest = longest * std::max<Wide>(kUnitScale, longest_of(costs.microbatch_scale)) / kUnitScale;
  return (longest + longest_delay(costs)) * static_cast<Wide>(schedule.num_ops()) < kMaxTicks;
}

struct Simulator::State {
  CursorEngine engine;

  Outcome evaluate(const Schedule& schedule, const Costs& costs, const MemoryModel& memory,
                   CursorEngine::Times times, const std::vector<Ticks>& ready) {
    require_times_fit(schedule, costs);
    const std::size_t done = engine.run(schedule, costs, memory, ready, times);
    if (done != schedule.num_ops())
      return explain_waits(schedule, engine.waits(schedule), entries_done(schedule));
    return totals(schedule);
  }

  [[nodiscard]] std::size_t entries_done(const Schedule& schedule) const {
    std::size_t entries = 0;
    for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
      for_each_entry(schedule, schedule.queue_begin(rank), engine.cursors()[rank.at()].next,
                     [&](std::size_t, std::size_t) { ++entries; });
    return entries;
  }

  [[nodiscard]] Totals totals(const Schedule& schedule) const {
    Totals totals;
    Ticks earliest = kMaxTicks;
    Ticks latest = 0;
    for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
      const CursorEngine::Cursor& cursor = engine.cursors()[rank.at()];
      const bool started = cursor.first_start != CursorEngine::kNotStarted;
      totals.first_start.push_back(started ? cursor.first_start : cursor.clock);
      totals.last_end.push_back(cursor.clock);
      totals.busy.push_back(cursor.busy);
      totals.peak_live.push_back(cursor.peak_live);
      totals.peak_activation_bytes.push_back(cursor.peak_held);
      if (!started) continue;
      earliest = std::min(earliest, cursor.first_start);
      latest = std::max(latest, cursor.clock);
    }
    totals.makespan = std::max(Ticks{0}, latest - earliest);
    return totals;
  }
};

Simulator::Simulator() : state_(std::make_unique<State>()) {}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;
Simulator& Simulator::operator=(Simulator&&) noexcept = default;

Simulator::Outcome Simulator::evaluate(const Schedule& schedule, const Costs& costs,
                                       const MemoryModel& memory, const std::vector<Ticks>& ready) {
  return state_->evaluate(schedule, costs, memory, {}, ready);
}

Simulator::Outcome Simulator::evaluate(const Schedule& schedule, const Costs& costs,
                                       const MemoryModel& memory, std::span<Ticks> start,
                                       std::span<Ticks> end, const std::vector<Ticks>& ready) {
  return state_->evaluate(schedule, costs, memory, {start.data(), end.data()}, ready);
}

// Work is summed over ranks in 128 bits: it passes 63 long before a makespan does.
double Totals::bubble_ratio() const {
  const Wide work = std::accumulate(busy.begin(), busy.end(), Wide{0});
  const double whole = static_cast<double>(makespan) * static_cast<double>(busy.size());
  return whole > 0 ? 1.0 - static_cast<double>(work) / whole : 0.0;
}

double Totals::bubble_overhead() const {
  const double work = static_cast<double>(std::accumulate(busy.begin(), busy.end(), Wide{0}));
  const double whole = static_cast<double>(makespan) * static_cast<double>(busy.size());
  return work > 0 ? (whole - work) / work : 0.0;
}

}  // namespace pipeloom
