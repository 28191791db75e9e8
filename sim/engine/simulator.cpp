#include "sim/engine/simulator.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <pipeloom/costs.hpp>
#include <pipeloom/error.hpp>
#include "sim/base/table_size.hpp"
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
      totals.last_end.push_back(cursor.clock - cursor.after);
      totals.busy.push_back(cursor.busy);
      totals.peak_live.push_back(cursor.peak_live);
      totals.peak_activation_bytes.push_back(cursor.peak_held);
      if (!started) continue;
      earliest = std::min(earliest, cursor.first_start);
      latest = std::max(latest, totals.last_end.back());
    }
    totals.makespan = std::max(Ticks{0}, latest - earliest);
    return totals;
  }
};

Simulator::Simulator() : state_(std::make_unique<State>()) {}
Simulator::~Simulator() = default;
Simulator::Simulator(Simulator&&) noexcept = default;
Simulator& Simulator::operator=(Simulator&&) noexcept = default;

void Simulator::set_stop(const std::function<bool()>* stop) {
  state_->engine.set_stop(stop);
}

Simulator::Outcome Simulator::evaluate(const Schedule& schedule, const Costs& costs,
                                       const MemoryModel& memory, const std::vector<Ticks>& ready) {
  return state_->evaluate(schedule, costs, memory, {}, ready);
}

Simulator::Outcome Simulator::evaluate(const Schedule& schedule, const Costs& costs,
                                       const MemoryModel& memory, std::span<Ticks> start,
                                       std::span<Ticks> end, const std::vector<Ticks>& ready,
                                       const EntryTimes& entry_times) {
  return state_->evaluate(schedule, costs, memory,
                          {start.data(), end.data(), entry_times ? &entry_times : nullptr}, ready);
}

double Totals::bubble_ratio() const {
  const TickSum whole = TickSum::times(makespan, static_cast<std::int64_t>(busy.size()));
  return share_of(whole - sum_of(busy), whole);
}

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

/// Ticks by which all ranks are ready later than before; nullopt if they differ. Every further step is then the one before, that much later.
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
MaxPlusMatrix transition_matrix(const StepFunction& map, std::size_t ranks) {
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

/// Mean to the nearest tick.
Ticks mean(TickSum sum, int count) {
  return static_cast<Ticks>((sum.value() + count / 2) / count);
}

}  // namespace

Timeline simulate(std::shared_ptr<const Schedule> schedule, const Costs& costs, const Steps& steps,
                  const std::function<bool()>& stop) {
  Timeline timeline;
  timeline.steps = steps.count;
  timeline.unit = costs.unit;
  const std::size_t num_ops = schedule->num_ops();
  timeline.start.resize(table_size(num_ops, steps.count));
  timeline.end.resize(timeline.start.size());
  timeline.schedule = std::move(schedule);
  const MemoryModel memory = default_memory(timeline.schedule->placement());
  Simulator simulator;
  simulator.set_stop(&stop);
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

Ticks post_validation_period(std::size_t ranks, const StepFunction& step_function) {
  constexpr int kMostSteps = 64;           // equal stages repeat after two
  constexpr std::size_t kMostRanks = 512;  // beyond, the matrix costs more than it is worth
  std::vector<Ticks> ready(ranks, 0);
  std::map<std::vector<Ticks>, std::pair<int, TickSum>> met;  // shape -> (step, level)
  TickSum level;                                              // time that `ready`, a shape, counts from
  Ticks growth = 0;
  for (int step = 0; step < kMostSteps; ++step) {
    const auto [found, is_new] = met.emplace(ready, std::pair(step, level));
    if (!is_new) return mean(level - found->second.second, step - found->second.first);
    auto next = step_function(ready);
    growth = *std::max_element(next.begin(), next.end()) - *std::max_element(ready.begin(), ready.end());
    level += make_relative(next);
    ready = std::move(next);
  }
  if (ready.size() > kMostRanks) return growth;
  return max_cycle_mean(transition_matrix(step_function, ready.size()));
}

Ticks steady_period(const Schedule& schedule, const Costs& costs, const Steps& steps) {
  StepMap map(schedule, costs, steps);
  if (steps.rule == StepRule::PostValidation)
    return post_validation_period(static_cast<std::size_t>(schedule.ranks()), std::ref(map));
  return map(std::vector<Ticks>(static_cast<std::size_t>(schedule.ranks()), 0)).front();
}

namespace {

__extension__ using Wide = __int128;

/// walk[k][v]: heaviest walk of exactly k edges that ends at v, starting anywhere (a source with free edges to all).
template <class Weight>
std::vector<std::vector<Weight>> heaviest_walks(const MaxPlusMatrix& matrix) {
  const std::size_t n = matrix.size();
  std::vector<std::vector<Weight>> walk(n + 1, std::vector<Weight>(n, MaxPlusMatrix::kAbsent));
  std::fill(walk[0].begin(), walk[0].end(), Weight{0});
  for (std::size_t k = 1; k <= n; ++k)
    for (std::size_t row = 0; row < n; ++row)
      for (std::size_t column = 0; column < n; ++column) {
        const Ticks weight = matrix.at(row, column);
        const Weight before = walk[k - 1][column];
        if (weight != MaxPlusMatrix::kAbsent && before != MaxPlusMatrix::kAbsent)
          walk[k][row] = std::max(walk[k][row], before + weight);
      }
  return walk;
}

/// A fraction; compared by cross-multiplication so that the maximum is exact.
struct Mean {
  Wide weight = 0;
  Wide edges = 1;
  friend bool operator<(const Mean& a, const Mean& b) { return a.weight * b.edges < b.weight * a.edges; }
};

template <class Weight>
Mean largest_cycle_mean(const MaxPlusMatrix& matrix) {
  const std::size_t n = matrix.size();
  const auto walk = heaviest_walks<Weight>(matrix);
  Mean best;
  for (std::size_t v = 0; v < n; ++v) {
    if (walk[n][v] == MaxPlusMatrix::kAbsent) continue;
    Mean least{kMaxTicks, 1};
    for (std::size_t k = 0; k < n; ++k)
      if (walk[k][v] != MaxPlusMatrix::kAbsent)
        least = std::min(least, Mean{Wide{walk[n][v]} - walk[k][v], static_cast<Wide>(n - k)});
    best = std::max(best, least);
  }
  return best;
}

/// True if a walk of n edges can pass kMaxTicks.
bool needs_wide_walks(const MaxPlusMatrix& matrix) {
  Ticks heaviest = 0;
  for (std::size_t row = 0; row < matrix.size(); ++row)
    for (std::size_t column = 0; column < matrix.size(); ++column)
      heaviest = std::max(heaviest, matrix.at(row, column));
  return Wide{heaviest} * static_cast<Wide>(matrix.size()) >= kMaxTicks;
}

}  // namespace

Ticks max_cycle_mean(const MaxPlusMatrix& matrix) {
  const Mean best =
      needs_wide_walks(matrix) ? largest_cycle_mean<Wide>(matrix) : largest_cycle_mean<Ticks>(matrix);
  return static_cast<Ticks>((best.weight + best.edges / 2) / best.edges);
}

}  // namespace pipeloom
