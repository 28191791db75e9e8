#include "study/run/scenario_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <pipeloom/error.hpp>
#include "sim/engine/scenarios.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::study {
namespace {

/// The value that a share `p` of the sorted values does not exceed.
double quantile(const std::vector<double>& sorted, double p) {
  const auto at = static_cast<std::size_t>(std::llround(p * static_cast<double>(sorted.size() - 1)));
  return sorted[at];
}

Quantiles quantiles_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {sum / static_cast<double>(values.size()), quantile(values, 0.5), quantile(values, 0.95),
          quantile(values, 0.99)};
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

void require_scenarios(const Run& run) {
  const cost::CostSpec& costs = run.effective->costs;
  if (!costs.noise)
    throw InputError(
        "--scenarios needs costs.noise, which says how durations vary; give it, for example --set "
        "'costs.noise={\"model\": \"lognormal\", \"sigma\": 0.03}'");
  for (const Rank rank : costs.noise->ranks)
    if (rank >= Rank(run.schedule->ranks()))
      throw InputError(costs.noise_where,
                       fmt::format("costs.noise names rank {}, but the schedule's ranks are 0 to {}",
                                   rank.value(), run.schedule->ranks() - 1));
  if (costs.transfer.model != cost::TransferModel::Latency)
    throw InputError(
        "--scenarios runs under the transfer model latency only; set costs.transfer.model to it");
  if (!Scenarios::supports(*run.schedule, *run.costs))
    throw InputError(
        "--scenarios takes no recomputation, copies or slices, and no sequential overlap; leave them out");
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

ScenarioSummary run_scenarios(const Run& run, int count, std::uint64_t seed) {
  require_scenarios(run);
  const ScenarioTimes times =
      Scenarios(*run.schedule, *run.costs, *run.effective->costs.noise).run(count, seed);
  ScenarioSummary out;
  out.count = count;
  out.seed = seed;
  out.makespan = quantiles_of({times.makespan.begin(), times.makespan.end()});
  out.bubble = quantiles_of(times.bubble);
  out.sensitivities = sensitivities_of(times, run.schedule->placement());
  return out;
}

}  // namespace pipeloom::study
