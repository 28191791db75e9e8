#include "sim/analysis/simulated_scenarios.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <variant>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/metrics.hpp>
#include "sim/analysis/critical_path.hpp"
#include "sim/dependency.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/engine/wait_for.hpp"

namespace pipeloom {
namespace {

/// One scenario after another, on the same buffers.
class StepRunner {
 public:
  explicit StepRunner(const Schedule& schedule) : memory_(default_memory(schedule.placement())) {
    // The caller's schedule outlives this.
    timeline_.schedule = std::shared_ptr<const Schedule>(std::shared_ptr<const Schedule>(), &schedule);
    timeline_.start.resize(schedule.num_ops());
    timeline_.end.resize(schedule.num_ops());
  }

  /// As RunScenario.
  void simulate(const Costs& costs, const EntryTimes& entry_times, ScenarioTimes& out) {
    auto outcome = simulator_.evaluate(schedule(), costs, memory_, std::span(timeline_.start),
                                       std::span(timeline_.end), {}, entry_times);
    if (const auto* hang = std::get_if<ScheduleHang>(&outcome))
      throw HangError("the schedule hangs: " + describe(*hang, schedule()));
    add(std::get<Totals>(outcome), out);
    add_path(costs, out);
  }

 private:
  [[nodiscard]] const Schedule& schedule() const { return *timeline_.schedule; }

  /// Scenarios count from the moment when ranks are ready.
  void add(const Totals& totals, ScenarioTimes& out) const {
    const Ticks makespan = *std::max_element(totals.last_end.begin(), totals.last_end.end());
    double busy = 0;
    for (const Ticks time : totals.busy) busy += static_cast<double>(time);
    add_step(makespan, busy, schedule().ranks(), out);
  }

  /// Adds, for each entry on the path, the time before the next one, and before that one's message: the sum is the makespan.
  void add_path(const Costs& costs, ScenarioTimes& out) const {
    const std::vector<std::size_t> path = critical_path(timeline_, costs).entries;
    for (std::size_t i = 0; i < path.size(); ++i) {
      const Ticks start = timeline_.start_of(path[i]);
      Ticks until = timeline_.end_of(end_of_entry(path[i]) - 1);
      if (i + 1 < path.size())
        until = timeline_.start_of(path[i + 1]) - add_message(costs, path[i], path[i + 1], out);
      add_on_path(schedule(), costs, path[i], static_cast<double>(until - start), out);
    }
  }

  [[nodiscard]] std::size_t end_of_entry(std::size_t first) const {
    while (schedule().ops()[first].joined()) ++first;
    return first + 1;
  }

  /// Adds the time of the message from the one entry to the other to `out`, and returns it; 0 within a rank.
  Ticks add_message(const Costs& costs, std::size_t from, std::size_t to, ScenarioTimes& out) const {
    const Rank sender = schedule().rank_of_op(from);
    const Rank receiver = schedule().rank_of_op(to);
    if (sender == receiver) return 0;
    const Ticks start = timeline_.start_of(to);
    for (std::size_t i = to; i < end_of_entry(to); ++i) {
      const Op op = schedule().ops()[i];
      const Ticks delay = arrival_delay(costs, op, schedule().slot_of(op));
      for (std::size_t made = from; made < end_of_entry(from); ++made) {
        if (timeline_.end_of(made) + delay != start) continue;
        out.link_on_path[sender.at() * static_cast<std::size_t>(schedule().ranks()) + receiver.at()] +=
            static_cast<double>(delay);
        return delay;
      }
    }
    return 0;
  }

  MemoryModel memory_;
  Timeline timeline_;
  Simulator simulator_;
};

}  // namespace

ScenarioTimes simulated_scenarios(const Schedule& schedule, const Costs& costs, const Noise& noise, int count,
                                  std::uint64_t seed) {
  StepRunner steps(schedule);
  return run_each(schedule, costs, noise, count, seed,
                  [&steps](const Costs& drawn, const EntryTimes& entry_times, ScenarioTimes& out) {
                    steps.simulate(drawn, entry_times, out);
                  });
}

}  // namespace pipeloom
