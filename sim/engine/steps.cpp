#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <pipeloom/costs.hpp>
#include <pipeloom/error.hpp>
#include "sim/base/tick_sum.hpp"
#include "sim/engine/max_plus.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/engine/time_limits.hpp"
#include "sim/engine/wait_for.hpp"

namespace pipeloom {
namespace {

using Outcome = Simulator::Outcome;

Totals require_totals(Outcome outcome, const Schedule& schedule) {
  if (const auto* hang = std::get_if<ScheduleHang>(&outcome))
    throw HangError("the schedule hangs: " + describe(*hang, schedule));
  return std::get<Totals>(std::move(outcome));
}

/// When each rank may start the next step. No step adds more than the first one, whose ranks all start at once, and that is at most
/// kMaxTicks: so what comes in has not overflowed.
std::vector<Ticks> next_ready(const Totals& totals, const Steps& steps) {
  std::vector<Ticks> ready = totals.last_end;
  if (steps.rule == StepRule::Barrier)
    std::fill(ready.begin(), ready.end(), *std::max_element(ready.begin(), ready.end()));
  for (Ticks& time : ready) time = later(time, steps.optimizer);
  return ready;
}

/// By how much later all ranks are ready than before, if it is as much for all: every further step is then the one before, so much later.
std::optional<Ticks> common_delay(const std::vector<Ticks>& before, const std::vector<Ticks>& after) {
  const auto was = [&before](std::size_t rank) { return before.empty() ? Ticks{0} : before[rank]; };
  const Ticks delay = after.front() - was(0);
  for (std::size_t rank = 1; rank < after.size(); ++rank)
    if (after[rank] - was(rank) != delay) return std::nullopt;
  return delay;
}

/// Fills the steps from `step` on, each the one before it `delay` later. All ranks are ready for the first of them at `ready`.
void repeat_step(Timeline& timeline, int step, Ticks delay, Ticks ready) {
  const std::size_t num_ops = timeline.schedule->num_ops();
  for (; step < timeline.steps; ++step) {
    ready = later(ready, delay);
    const std::size_t begin = timeline.index(step, 0);
    for (std::vector<Ticks>* times : {&timeline.start, &timeline.end})
      for (std::size_t i = begin; i < begin + num_ops; ++i) (*times)[i] = (*times)[i - num_ops] + delay;
  }
}

/// One step as a max-plus linear map: ready times in, ready times of the next step out.
class StepMap {
 public:
  StepMap(const Schedule& schedule, const Costs& costs, const Steps& steps)
      : schedule_(schedule), costs_(costs), steps_(steps), memory_(default_memory(schedule.placement())) {}

  std::vector<Ticks> operator()(const std::vector<Ticks>& ready) {
    return next_ready(require_totals(simulator_.evaluate(schedule_, costs_, memory_, ready), schedule_),
                      steps_);
  }

 private:
  const Schedule& schedule_;
  const Costs& costs_;
  const Steps& steps_;
  MemoryModel memory_;
  Simulator simulator_;
};

/// The transition matrix, column by column: rank j is late by more than any path is long, so whatever it delays depends
/// on it.
MaxPlusMatrix transition_matrix(StepMap& map, std::size_t ranks) {
  MaxPlusMatrix matrix(ranks);
  const std::vector<Ticks> base = map(std::vector<Ticks>(ranks, 0));
  const Ticks late = *std::max_element(base.begin(), base.end()) + 1;
  for (std::size_t j = 0; j < ranks; ++j) {
    std::vector<Ticks> ready(ranks, 0);
    ready[j] = late;
    const std::vector<Ticks> out = map(ready);
    for (std::size_t i = 0; i < ranks; ++i)
      if (out[i] >= late) matrix.set(i, j, out[i] - late);
  }
  return matrix;
}

/// Counts from the first rank that is ready; how much that takes off.
Ticks make_relative(std::vector<Ticks>& ready) {
  const Ticks first = *std::min_element(ready.begin(), ready.end());
  for (Ticks& time : ready) time -= first;
  return first;
}

/// To the nearest tick.
Ticks mean(TickSum sum, int count) {
  return static_cast<Ticks>((sum.value() + count / 2) / count);
}

Ticks post_validation_period(const Schedule& schedule, const Costs& costs, const Steps& steps) {
  constexpr int kMostSteps = 64;           // equal stages repeat after two
  constexpr std::size_t kMostRanks = 512;  // beyond, the matrix costs more than it is worth
  StepMap map(schedule, costs, steps);
  std::vector<Ticks> ready(static_cast<std::size_t>(schedule.ranks()), 0);
  std::map<std::vector<Ticks>, std::pair<int, TickSum>> met;  // shape -> (step, level)
  TickSum level;                                              // what `ready`, a shape, counts from
  Ticks growth = 0;
  for (int step = 0; step < kMostSteps; ++step) {
    const auto [found, is_new] = met.emplace(ready, std::pair(step, level));
    if (!is_new) return mean(level - found->second.second, step - found->second.first);
    auto next = map(ready);
    growth = *std::max_element(next.begin(), next.end()) - *std::max_element(ready.begin(), ready.end());
    level += make_relative(next);
    ready = std::move(next);
  }
  if (ready.size() > kMostRanks) return growth;
  return max_cycle_mean(transition_matrix(map, ready.size()));
}

}  // namespace

Timeline simulate(std::shared_ptr<const Schedule> schedule, const Costs& costs, const Steps& steps) {
  Timeline timeline;
  timeline.steps = steps.count;
  timeline.unit = costs.unit;
  const std::size_t num_ops = schedule->num_ops();
  timeline.start.resize(num_ops * static_cast<std::size_t>(steps.count));
  timeline.end.resize(timeline.start.size());
  timeline.schedule = std::move(schedule);
  const MemoryModel memory = default_memory(timeline.schedule->placement());
  Simulator simulator;
  std::vector<Ticks> ready;
  for (int step = 0; step < steps.count; ++step) {
    const auto part = [&](std::vector<Ticks>& times) {
      return std::span<Ticks>(times).subspan(static_cast<std::size_t>(step) * num_ops, num_ops);
    };
    const Totals totals = require_totals(simulator.evaluate(*timeline.schedule, costs, memory,
                                                            part(timeline.start), part(timeline.end), ready),
                                         *timeline.schedule);
    std::vector<Ticks> next = next_ready(totals, steps);
    if (const auto delay = common_delay(ready, next)) {
      repeat_step(timeline, step + 1, *delay, *std::max_element(next.begin(), next.end()));
      break;
    }
    ready = std::move(next);
  }
  return timeline;
}

std::optional<ScheduleHang> find_hang(const Schedule& schedule) {
  Simulator simulator;
  auto outcome =
      simulator.evaluate(schedule, default_costs(schedule.placement()), default_memory(schedule.placement()));
  if (auto* hang = std::get_if<ScheduleHang>(&outcome)) return std::move(*hang);
  return std::nullopt;
}

Ticks steady_period(const Schedule& schedule, const Costs& costs, const Steps& steps) {
  if (steps.rule == StepRule::PostValidation) return post_validation_period(schedule, costs, steps);
  StepMap map(schedule, costs, steps);
  return map(std::vector<Ticks>(static_cast<std::size_t>(schedule.ranks()), 0)).front();
}

}  // namespace pipeloom
