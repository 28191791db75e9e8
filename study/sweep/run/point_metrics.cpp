#include "study/sweep/run/point_metrics.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include <pipeloom/metrics.hpp>
#include "sim/analysis/metrics.hpp"
#include "sim/base/tick_sum.hpp"
#include "sim/cost/bind.hpp"
#include "sim/cost/memory_sums.hpp"
#include "sim/cost/resolve.hpp"
#include "sim/memory.hpp"
#include "study/run/model_costs.hpp"
#include "study/run/run_bound.hpp"

namespace pipeloom::sweep {
namespace {

template <class Table>
bool any_positive(const Table& table) {
  return std::any_of(table.begin(), table.end(), [](auto value) { return value > 0; });
}
template <class Table>
bool all_positive(const Table& table) {
  return std::all_of(table.begin(), table.end(), [](auto value) { return value > 0; });
}

/// True if no overlapped group is over when it begins. Groups that only the order knows are looked at one by one.
bool groups_take_time(const Schedule& schedule, const Costs& costs) {
  if (!schedule.has_groups()) return true;
  if (costs.overlap.pairs.empty() && costs.per_group.empty()) return all_positive(costs.overlap.duration);
  bool all = true;
  for_each_entry(schedule, 0, schedule.num_ops(), [&](std::size_t first, std::size_t last) {
    all = all && (last - first == 1 || costs.entry_duration(schedule, first, last) > 0);
  });
  return all;
}

}  // namespace

Wanted wanted_by(std::span<const study::Metric* const> metrics,
                 const std::optional<study::ScenarioChoice>& scenarios) {
  const auto any = [metrics](study::Needs needs) {
    return std::any_of(metrics.begin(), metrics.end(),
                       [needs](const study::Metric* metric) { return metric->needs == needs; });
  };
  const bool rates = any(study::Needs::Rates);
  return {any(study::Needs::Bound), rates || any(study::Needs::Steady), rates, any(study::Needs::Bytes),
          any(study::Needs::Scenarios) ? scenarios : std::nullopt};
}

const PointRun& PointMetrics::measure(MadeSchedule& made, const io::Config& given, bool& grown) {
  grown = false;
  const std::optional<study::ModelCosts> estimated = study::model_costs(given, *made.schedule());
  const io::Config& config = estimated ? estimated->config : given;
  run_.training.reset();
  if (estimated && wanted_.rates)
    run_.training = study::training_terms(*estimated, *made.schedule(), made.schedule()->microbatches());
  const bool quick = config.costs.transfer.model == cost::TransferModel::Latency &&
                     !made.schedule()->has_copies() && measure_quickly(made, config, grown);
  if (quick) {
    if (wanted_.scenarios)
      run_.scenarios = study::run_scenarios(*made.schedule(), run_.costs, config.costs, *wanted_.scenarios);
    return run_;
  }
  Limits limits = limits_;
  limits.critical_path_entries = 0;
  if (!wanted_.bound) limits.bound_entries = 0;
  Run run = study::evaluate_made(made.schedule(), config, limits);
  if (wanted_.scenarios) run_.scenarios = study::run_scenarios(run, *wanted_.scenarios);
  run_.memory = *run.memory;
  run_.timeline = std::move(run.timeline);
  run_.metrics = std::move(*run.metrics);
  run_.over_limit = run.over_limit;
  memory_schedule_ = nullptr;
  return run_;
}

/// False where a look at the whole timeline, or at more than one step, is needed.
bool PointMetrics::measure_quickly(MadeSchedule& made, const io::Config& config, bool& grown) {
  const auto& schedule = made.schedule();
  cost::ResolvedCosts resolved = cost::resolve(config.costs, *schedule);
  run_.costs = std::move(resolved.costs);
  run_.timeline.unit = config.costs.unit;
  run_.over_limit.reset();
  run_.costs.slice_end = slice_ends(config.options, schedule->slices());
  cost::bind_costs(run_.costs, resolved.ops, *schedule);
  resolve_memory(schedule, config);
  if (!find_totals(made, config.step, grown)) return false;
  const bool bytes = wanted_.bytes || !run_.memory.limit.empty();
  if (bytes && !order_decides_bytes(*schedule)) {
    if (!measure_timeline(schedule)) return false;
  } else {
    find_peaks(made, config.memory);
    if (is_over_limit() && !measure_timeline(schedule)) return false;
  }
  fill(*schedule, config.step);
  return true;
}

/// Memory tables stay as long as schedule and numbers do.
void PointMetrics::resolve_memory(const std::shared_ptr<const Schedule>& schedule, const io::Config& config) {
  const cost::MemorySpec& spec = config.memory;
  if (memory_schedule_ == schedule && memory_steps_ == config.step.count && memory_spec_ &&
      cost::same_memory(*memory_spec_, spec)) {
    run_.memory.limit = cost::resolve_limit(spec, schedule->ranks(), run_.memory.parts);
    run_.memory.slice_end = run_.costs.slice_end;
    return;
  }
  memory_schedule_ = nullptr;
  run_.memory = cost::resolve_memory(spec, schedule->placement());
  run_.memory.slice_end = run_.costs.slice_end;
  cost::require_summable(spec, run_.memory, *schedule, config.step.count, schedule->microbatches());
  memory_spec_ = spec;
  memory_steps_ = config.step.count;
  memory_schedule_ = schedule;
}

bool PointMetrics::find_totals(MadeSchedule& made, const Steps& steps, bool& grown) {
  const Schedule& schedule = *made.schedule();
  const FixedOrder* order = FixedOrder::supports(run_.costs) && times_fit_easily(schedule, run_.costs)
                                ? made.order(grown)
                                : nullptr;
  has_peaks_ = order == nullptr;
  if (order != nullptr) {
    order->totals(run_.costs, scratch_, totals_);
  } else {
    auto outcome = simulator_.evaluate(schedule, run_.costs, run_.memory);
    if (!std::holds_alternative<Totals>(outcome)) return false;
    totals_ = std::get<Totals>(std::move(outcome));
  }
  // No step takes longer than the first, whose ranks all start at once, so that later ones cannot overflow either.
  const Ticks last = *std::max_element(totals_.last_end.begin(), totals_.last_end.end());
  return last <= kMaxTicks - steps.optimizer &&
         TickSum::times(last + steps.optimizer, steps.count) <= kMaxTicks;
}

bool PointMetrics::order_decides_bytes(const Schedule& schedule) const {
  const Costs& costs = run_.costs;
  if (any_positive(run_.memory.receive) || costs.overlap.rule == OverlapRule::Sequential ||
      schedule.slices() > 1 || !costs.microbatch_scale.empty() || !groups_take_time(schedule, costs))
    return false;
  if (!costs.per_op.empty()) return all_positive(costs.per_op);
  for (const OpKind kind : kAllOpKinds)
    if (schedule.contains(kind) && !all_positive(costs.duration[index_of(kind)])) return false;
  return true;
}

void PointMetrics::find_peaks(MadeSchedule& made, const cost::MemorySpec& spec) {
  memory_.assign(static_cast<std::size_t>(made.schedule()->ranks()), {});
  const bool bytes = wanted_.bytes || !run_.memory.limit.empty();
  if (has_peaks_)
    for (std::size_t r = 0; r < memory_.size(); ++r) {
      memory_[r].peak_live = totals_.peak_live[r];
      memory_[r].peak_activation_bytes = totals_.peak_activation_bytes[r];
    }
  if (has_peaks_ && !bytes) return;
  const auto peaks = made.peaks(spec, run_.memory);
  for (std::size_t r = 0; r < memory_.size(); ++r) {
    memory_[r].peak_live = (*peaks)[r].live;
    memory_[r].peak_activation_bytes = (*peaks)[r].activation_bytes;
    memory_[r].peak_bytes = (*peaks)[r].bytes;
  }
}

bool PointMetrics::is_over_limit() const {
  for (std::size_t r = 0; r < run_.memory.limit.size(); ++r)
    if (memory_[r].peak_bytes > run_.memory.limit[r]) return true;
  return false;
}

/// Bytes that depend on time, and which op is the first above the limit.
bool PointMetrics::measure_timeline(const std::shared_ptr<const Schedule>& schedule) {
  Timeline& timeline = run_.timeline;
  timeline.schedule = schedule;
  timeline.steps = 1;
  timeline.start.resize(schedule->num_ops());
  timeline.end.resize(schedule->num_ops());
  const auto outcome = simulator_.evaluate(*schedule, run_.costs, run_.memory, timeline.start, timeline.end);
  if (!std::holds_alternative<Totals>(outcome)) return false;
  memory_ = measure_memory(timeline, run_.memory);
  run_.over_limit = find_over_limit(timeline, run_.memory);
  return true;
}

void PointMetrics::fill(const Schedule& schedule, const Steps& steps) {
  Metrics& metrics = run_.metrics;
  metrics.makespan = totals_.makespan;
  metrics.num_ops = schedule.num_ops();
  metrics.num_entries = schedule.num_entries();
  metrics.ranks.resize(memory_.size());
  for (std::size_t r = 0; r < memory_.size(); ++r) {
    RankMetrics& rank = metrics.ranks[r];
    rank.busy = totals_.busy[r];
    rank.idle = metrics.makespan - rank.busy;
    rank.first_start = totals_.first_start[r];
    rank.last_end = totals_.last_end[r];
    rank.memory = memory_[r];
  }
  add_totals(metrics);
  if (wanted_.period) add_step_times(metrics, schedule, run_.costs, steps);
  metrics.lower_bound = wanted_.bound && schedule.num_entries() <= limits_.bound_entries
                            ? study::run_bound(schedule, run_.costs, run_.memory, steps, metrics.makespan)
                            : LowerBound{};
}

}  // namespace pipeloom::sweep
