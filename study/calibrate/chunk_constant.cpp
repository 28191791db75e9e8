#include "study/calibrate/chunk_constant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/io/config/config.hpp"
#include "sim/io/json/json_value.hpp"

namespace pipeloom::study::calibrate {
namespace {

/// A run's stages: their layers, their ranks, and how long ops of a kind take on each; empty where none ran alone.
struct StageTimes {
  std::vector<std::int32_t> layers;
  std::vector<std::int32_t> ranks;
  std::vector<Ticks> times;
};

/// What the stages of one rank come to, ends apart.
struct RankSum {
  double count = 0;
  double layers = 0;
  double time = 0;
};

RankSum sum_on(std::int32_t rank, const StageTimes& run) {
  RankSum sum;
  for (std::size_t s = 1; s + 1 < run.layers.size(); ++s) {
    if (run.ranks[s] != rank) continue;
    sum.count += 1;
    sum.layers += run.layers[s];
    sum.time += static_cast<double>(run.times[s]);
  }
  return sum;
}

std::optional<Ticks> constant_of(const RankSum& one, const RankSum& other) {
  const double apart = one.layers * other.count - other.layers * one.count;
  if (apart == 0) return std::nullopt;
  return std::llround((one.layers * other.time - other.layers * one.time) / apart);
}

std::vector<Ticks> times_of(const Measurements& measured, OpKind kind) {
  std::vector<Ticks> times;
  for (const cost::DurationSample& sample : measured.op[index_of(kind)]) {
    if (sample.count == 0) return {};
    times.push_back(sample.median);
  }
  return times;
}

std::vector<Ticks> times_of(const cost::CostSpec& costs, OpKind kind) {
  const auto& numbers = costs.duration[index_of(kind)];
  if (!numbers || numbers->form == cost::StageNumbers::Form::Table) return {};
  return cost::expand(*numbers, static_cast<int>(costs.layers.counts.size()));
}

std::vector<std::int32_t> ranks_of(const cost::CostSpec& costs, int ranks) {
  if (!costs.stage_ranks.counts.empty()) return costs.stage_ranks.counts;
  std::vector<std::int32_t> out(costs.layers.counts.size());
  for (std::size_t s = 0; s < out.size(); ++s) out[s] = static_cast<std::int32_t>(s) % ranks;
  return out;
}

std::vector<std::int32_t> ranks_of(const Placement& placement) {
  std::vector<std::int32_t> out;
  for (Stage stage{0}; stage < Stage(placement.stages()); ++stage)
    out.push_back(placement.rank_of(stage).value());
  return out;
}

void require_same_model(const Measurements& measured, const OtherRun& other) {
  const Where place{other.file};
  const auto total = [](const std::vector<std::int32_t>& layers) {
    return std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
  };
  const std::int64_t here = total(measured.layers);
  const std::int64_t there = total(other.costs.layers.counts);
  if (here != there)
    throw InputError(place, fmt::format("it is of a model of {} layers, and this run of one of {}; give "
                                        "costs of the same model",
                                        there, here));
  if ((measured.unit == TimeUnit::Unit) != (other.costs.unit == TimeUnit::Unit))
    throw InputError(place, "one of the runs has a time unit and the other has none; give both one");
}

}  // namespace

OtherRun read_other_run(const std::string& file) {
  io::Document document;
  document.set("costs", file, "--with");
  io::inline_costs_file(document);
  OtherRun other{file, io::read_run_config(document.root(), io::Needs::CostsOnly).costs};
  if (other.costs.layers.counts.empty())
    throw InputError(Where{file},
                     "it does not say how many layers its stages have; make it by `pipeloom "
                     "calibrate --layers`");
  return other;
}

cost::DurationSample chunk_constant(const Measurements& measured, const Placement& placement,
                                    const OtherRun& other) {
  require_same_model(measured, other);
  const int ranks = placement.ranks();
  StageTimes here{measured.layers, ranks_of(placement), {}};
  StageTimes there{other.costs.layers.counts, ranks_of(other.costs, ranks), {}};
  std::vector<Ticks> found;
  for (const OpKind kind : kAllOpKinds) {
    here.times = times_of(measured, kind);
    there.times = times_of(other.costs, kind);
    if (here.times.empty() || there.times.empty()) continue;
    for (std::int32_t rank = 0; rank < ranks; ++rank)
      if (const auto one = constant_of(sum_on(rank, here), sum_on(rank, there))) found.push_back(*one);
  }
  if (found.empty())
    throw InputError(Where{other.file},
                     "the two runs do not tell what ops take besides their layers: no rank has stages of "
                     "different size in both, the first and the last stage apart; give costs of a run with "
                     "another number of chunks, on 3 ranks or more");
  return cost::sample_of(std::move(found));
}

void take_off(Measurements& measured, Ticks constant) {
  const auto less = [constant](Ticks time) { return std::max<Ticks>(0, time - constant); };
  const auto all_less = [&](std::vector<cost::DurationSample>& samples) {
    for (cost::DurationSample& sample : samples)
      if (sample.count > 0) sample.median = less(sample.median);
  };
  for (auto* const table : {&measured.op, &measured.share})
    for (auto& samples : *table) all_less(samples);
  all_less(measured.group);
  for (auto& [stages, sample] : measured.pairs) sample.median = less(sample.median);
  for (cost::CostRow& row : measured.single.rows)
    if (!row.is_factor) row.number = less(row.number);
  measured.constant = constant;
}

}  // namespace pipeloom::study::calibrate
