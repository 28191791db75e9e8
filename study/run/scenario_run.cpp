#include "study/run/scenario_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include <pipeloom/error.hpp>
#include "sim/analysis/simulated_scenarios.hpp"
#include "sim/base/tick_sum.hpp"
#include "sim/engine/scenarios.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/kinds.hpp"
#include "sim/messages/program_scenarios.hpp"
#include "study/run/messages.hpp"

namespace pipeloom::study {
namespace {

/// By nearest rank, in whole numbers. REQUIRES: values; 0 < percent <= 100.
template <class Number>
Number percentile(const std::vector<Number>& sorted, std::size_t percent) {
  return sorted[(sorted.size() * percent + 99) / 100 - 1];
}

Ticks mean_of(const std::vector<Ticks>& values) {
  const TickSum sum = std::accumulate(values.begin(), values.end(), TickSum(0));
  const auto count = static_cast<TickSum::Wide>(values.size());
  return static_cast<Ticks>((2 * sum.value() + count) / (2 * count));
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

template <class Number>
Quantiles<Number> quantiles_of(std::vector<Number> values) {
  std::sort(values.begin(), values.end());
  return {mean_of(values), percentile(values, 50), percentile(values, 95), percentile(values, 99)};
}

/// Adds up time on critical paths by stage, rank, kind and link.
std::vector<Sensitivity> sensitivities_of(const ScenarioTimes& times, const Placement& placement) {
  using What = Sensitivity::What;
  const double whole =
      std::accumulate(times.makespan.begin(), times.makespan.end(), 0.0,
                      [](double sum, Ticks makespan) { return sum + static_cast<double>(makespan); });
  std::vector<double> stages(static_cast<std::size_t>(placement.stages()));
  std::vector<double> ranks(static_cast<std::size_t>(placement.ranks()));
  std::vector<double> kinds(kOpKinds);
  for (std::size_t kind = 0; kind < kOpKinds; ++kind)
    for (Slot slot{0}; slot < Slot(placement.slots()); ++slot) {
      const double time = times.on_path[kind][slot.at()];
      stages[placement.stage_of(slot).at()] += time;
      ranks[placement.rank_of(slot).at()] += time;
      kinds[kind] += time;
    }
  std::vector<Sensitivity> out;
  const auto add_all = [&](What what, const std::vector<double>& sums, std::size_t receivers) {
    const auto begin = static_cast<std::ptrdiff_t>(out.size());
    for (std::size_t i = 0; i < sums.size(); ++i)
      if (sums[i] > 0)
        out.push_back({what, static_cast<std::int32_t>(i / receivers),
                       static_cast<std::int32_t>(i % receivers), sums[i] / whole});
    std::stable_sort(out.begin() + begin, out.end(),
                     [](const Sensitivity& a, const Sensitivity& b) { return a.derivative > b.derivative; });
  };
  add_all(What::Stage, stages, 1);
  add_all(What::Rank, ranks, 1);
  add_all(What::OpKind, kinds, 1);
  add_all(What::Link, times.link_on_path, ranks.size());
  return out;
}

void require_noise(const cost::CostSpec& spec) {
  if (!spec.noise)
    throw InputError(
        "scenarios need costs.noise, which says how durations vary; give it, for example --set "
        "'costs.noise={\"model\": \"lognormal\", \"sigma\": 0.03}'");
}

/// Scenarios of any schedule, by the fastest engine that has them.
ScenarioTimes times_of(const Schedule& schedule, const Costs& costs, const Noise& noise,
                       const ScenarioChoice& choice) {
  if (Scenarios::supports(schedule, costs))
    return Scenarios(schedule, costs, noise).run(choice.count, choice.seed);
  return simulated_scenarios(schedule, costs, noise, choice.count, choice.seed);
}

ScenarioSummary summary_of(const ScenarioTimes& times, const Placement& placement,
                           const ScenarioChoice& choice) {
  ScenarioSummary out;
  out.count = choice.count;
  out.seed = choice.seed;
  out.makespan = quantiles_of(times.makespan);
  out.bubble = quantiles_of(times.bubble);
  out.sensitivities = sensitivities_of(times, placement);
  return out;
}

}  // namespace

std::string name_of(const Sensitivity& sensitivity) {
  switch (sensitivity.what) {
    case Sensitivity::What::Stage:
      return fmt::format("stage {}", sensitivity.index);
    case Sensitivity::What::Rank:
      return fmt::format("rank {}", sensitivity.index);
    case Sensitivity::What::OpKind:
      return std::string(1, letter_of(kAllOpKinds[static_cast<std::size_t>(sensitivity.index)]));
    case Sensitivity::What::Link:
      return fmt::format("link {} to {}", sensitivity.index, sensitivity.to);
  }
  return "";
}

ScenarioSummary run_scenarios(const Schedule& schedule, const Costs& costs, const cost::CostSpec& spec,
                              const ScenarioChoice& choice) {
  require_noise(spec);
  return summary_of(times_of(schedule, costs, *spec.noise, choice), schedule.placement(), choice);
}

ScenarioSummary run_scenarios(const Run& run, const ScenarioChoice& choice) {
  const cost::CostSpec& spec = run.effective->costs;
  if (!run.program) return run_scenarios(*run.schedule, *run.costs, spec, choice);
  require_noise(spec);
  return summary_of(program_scenarios(*run.program, *run.costs, message_rules(spec.transfer), *spec.noise,
                                      choice.count, choice.seed),
                    run.schedule->placement(), choice);
}

}  // namespace pipeloom::study
