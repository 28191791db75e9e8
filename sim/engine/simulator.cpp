#include "sim/engine/simulator.hpp"

#include <algorithm>
#include <numeric>

#include "sim/base/tick_sum.hpp"
#include "sim/engine/cursor_engine.hpp"
#include "sim/engine/time_limits.hpp"
#include "sim/engine/wait_for.hpp"

namespace pipeloom {
namespace {

/// No chain of entries can pass kMaxTicks. Cheap bound first; where that is too coarse, all work and all delays added up, which
/// no chain exceeds either.
void require_times_fit(const Schedule& schedule, const Costs& costs) {
  if (!times_fit_easily(schedule, costs) && sum_of_times(schedule, costs) >= kMaxTicks) refuse_times();
}

TickSum sum_of(const std::vector<Ticks>& times) {
  return std::accumulate(times.begin(), times.end(), TickSum());
}

}  // namespace

bool times_fit_easily(const Schedule& schedule, const Costs& costs) {
  return easy_sum_of_times(schedule, costs) < kMaxTicks;
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

double Totals::bubble_ratio() const {
  const TickSum whole = TickSum::times(makespan, static_cast<std::int64_t>(busy.size()));
  return share_of(whole - sum_of(busy), whole);
}

}  // namespace pipeloom
