#include "cli/pages/schedule_example.hpp"

#include <algorithm>
#include <memory>

#include "sim/analysis/metrics.hpp"
#include "sim/engine/simulator.hpp"
#include "study/report/metric.hpp"

namespace pipeloom::cli {
namespace {

using schedules::ClosedForm;
using schedules::Generator;

constexpr int kMostMicrobatches = 64;
constexpr int kMostUpdates = 2;

UniformCosts unit_costs() {
  const Ticks one = ticks_per(TimeUnit::Unit);
  UniformCosts costs;
  costs.forward = one;
  costs.backward = 2 * one;
  costs.backward_input = one;
  costs.backward_weight = one;
  return costs;
}

/// A quantity of the simulated run as the closed forms name them, a rank's or the metric of that name; nothing for others.
std::optional<std::int64_t> simulated(const Metrics& metrics, std::string_view quantity, Rank rank) {
  const RankMetrics& own = metrics.ranks[rank.at()];
  if (quantity == "idle") return own.idle;
  if (quantity == "busy") return own.busy;
  if (quantity == "peak_live") return own.memory.peak_live;
  const study::Metric* metric = study::metric_named(quantity);
  if (metric == nullptr || metric->unit != study::Unit::Time) return std::nullopt;
  const auto value = metric->get(study::RunNumbers{&metrics});
  if (!value) return std::nullopt;
  return static_cast<Ticks>(std::get<TickSum>(*value).value());
}

/// The texts of all ranks, or of one where they are the same; none if a rank has no value.
template <class Value>
std::vector<std::string> texts_of(int ranks, std::string_view quantity, const Value& value) {
  std::vector<std::string> texts;
  for (Rank rank{0}; rank < Rank(ranks); ++rank) {
    const std::optional<std::int64_t> number = value(rank);
    if (!number) return {};
    texts.push_back(quantity.starts_with("peak_") ? std::to_string(*number)
                                                  : format_ticks(*number, TimeUnit::Unit));
  }
  if (std::equal(texts.begin() + 1, texts.end(), texts.begin())) texts.resize(1);
  return texts;
}

bool holds(const ClosedForm& form, const Params& params) {
  return form.value(params, unit_costs(), Rank(0)).has_value();
}

}  // namespace

double ScheduleExample::peak_microbatches() const {
  int peak = 0;
  for (const RankMetrics& rank : metrics.ranks) peak = std::max(peak, rank.memory.peak_live);
  return static_cast<double>(peak) / params.chunks / params.slices();
}

Params example_params(const Generator& generator) {
  Params params;
  schedules::complete(generator, params, std::nullopt);
  params.options.updates = std::min(params.updates(), kMostUpdates);
  while (params.microbatches < kMostMicrobatches && !schedules::refusal(generator, params).empty())
    ++params.microbatches;
  return params;
}

ScheduleExample make_example(const Generator& generator, const Params& params) {
  ScheduleExample out;
  out.params = params;
  auto schedule = std::make_shared<const Schedule>(schedules::make(generator, params));
  const Costs costs = uniform_costs(schedule->placement(), unit_costs());
  out.timeline = simulate(schedule, costs);
  out.metrics = measure(out.timeline, costs, default_memory(schedule->placement()), {});
  return out;
}

FormValues values_of(const ClosedForm& form, const ScheduleExample& example) {
  const int ranks = example.params.ranks;
  return {example.params,
          texts_of(ranks, form.quantity,
                   [&](Rank rank) { return form.value(example.params, unit_costs(), rank); }),
          texts_of(ranks, form.quantity,
                   [&](Rank rank) { return simulated(example.metrics, form.quantity, rank); })};
}

std::optional<FormValues> values_elsewhere(const Generator& generator, const ClosedForm& form,
                                           const ScheduleExample& example) {
  for (int distance = 1; distance < kMostMicrobatches; ++distance)
    for (const int m : {example.params.microbatches - distance, example.params.microbatches + distance}) {
      Params params = example.params;
      params.microbatches = m;
      if (m < 1 || m > kMostMicrobatches || !schedules::refusal(generator, params).empty()) continue;
      if (holds(form, params)) return values_of(form, make_example(generator, params));
    }
  return std::nullopt;
}

}  // namespace pipeloom::cli
