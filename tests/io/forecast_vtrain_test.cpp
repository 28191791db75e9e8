// Training iterations of GPT models on 64 to 512 A100 that vTrain's authors measured (tests/golden/forecast/vtrain.json): full recomputation, 1F1B,
// adapters of 100 Gbit/s for each device, attention with its scores in memory.

#include <array>

#include "io/forecast_rows.hpp"
#include "sim/hardware/layer_time.hpp"
#include "sim/io/hardware/hardware_file.hpp"
#include "sim/model/check.hpp"
#include "sim/model/parameters.hpp"
#include "support/catch.hpp"

namespace pipeloom::io::forecast_vtrain_test {
namespace {

using namespace forecast;
using hardware::Hardware;
using hardware::WorkTime;
using model::Pass;

constexpr double kGradientBytes = 4;    // of a parameter: fp32
constexpr double kOptimizerBytes = 26;  // of a parameter

using Run = GptRun;

/// A stage's passes, the forward run again in the backward, and what its rank does at the end of the step.
struct Stage {
  StageTime time;
  double end = 0;
};

Stage stage_of(const Hardware& h, const Run& run, int stage, const WorkTime& layer) {
  const auto& m = run.model;
  const auto& split = run.split;
  const auto layers = static_cast<int>(m.layers.size()) / split.pipeline;
  WorkTime all;
  for (int i = 0; i < layers; ++i) all += layer;
  const double again = all[Pass::Forward].total();
  if (stage == 0) all += work_time(h, embedding_work(m, split), split, m.norm);
  if (stage == split.pipeline - 1) all += work_time(h, head_work(m, split), split, m.norm);
  const double parameters = stage_parameters(run, stage);
  const double sending = split.pipeline > 1 ? message(h, states_of(run) / split.tensor, true).seconds : 0;
  Stage out;
  out.time.forward = all[Pass::Forward].total() + sending;
  out.time.backward = again + all[Pass::BackwardInput].total() + all[Pass::BackwardWeight].total() + sending;
  const auto group = group_of(h, split, model::Group::Data);
  out.end = reduction(h, kGradientBytes * parameters, 0, group.ranks, group.per_node, false).seconds +
            optimizer(h, kOptimizerBytes * parameters).seconds;
  return out;
}

double forecast_of(const Hardware& h, const Run& run) {
  const WorkTime layer =
      layer_time(h, work_of(run.model, run.model.kinds[0], run.split), run.split, run.model.norm);
  std::vector<StageTime> stages;
  double end = 0;
  for (int s = 0; s < run.split.pipeline; ++s) {
    const Stage stage = stage_of(h, run, s, layer);
    stages.push_back(stage.time);
    end = std::max(end, stage.end);
  }
  return one_f_one_b(stages, run.microbatches) + end;
}

/// The preset with that cluster's network, 800 Gbit/s for 8 devices.
Hardware cluster() {
  Hardware h = *find_hardware("a100", {});
  h.network.bytes_per_second = 12.5e9;
  return h;
}

Errors errors_of(const Hardware& h, const std::vector<Run>& rows) {
  Errors errors;
  for (const Run& run : rows) errors.add(run.seconds, forecast_of(h, run));
  return errors;
}

/// Products by one efficiency in place of the table.
Hardware with(Hardware h, double products, double traffic, double network) {
  h.gemm.tables = {};
  h.gemm.efficiency = products;
  h.traffic_efficiency[1] = traffic;
  h.network.efficiency = network;
  return h;
}

/// eG, eM and eN with the least mean error over some rows.
Hardware fitted(const Hardware& h, const std::vector<Run>& rows) {
  double best = 1e9;
  Hardware out = h;
  for (double products = 0.72; products < 0.93; products += 0.02)
    for (double traffic = 0.6; traffic < 1.01; traffic += 0.05)
      for (double network = 0.6; network < 1.01; network += 0.05) {
        const Hardware tried = with(h, products, traffic, network);
        const double mean = errors_of(tried, rows).mean();
        if (mean < best) {
          best = mean;
          out = tried;
        }
      }
  return out;
}

}  // namespace

TEST_CASE("forecast: vTrain's iterations on many nodes by tables and nominal values alone") {
  const auto rows = vtrain_runs("multi_node");
  REQUIRE(rows.size() == 73);
  for (const Run& run : rows) check(run.model, run.split, {});
  const Hardware h = cluster();
  const Errors errors = errors_of(h, rows);
  print("vTrain, preset", errors);
  Hardware plain = h;
  plain.launch.layer_floor = 0;
  plain.gemm.tables = {};
  const Errors formulas = errors_of(plain, rows);
  print("vTrain, without floor and table of products", formulas);
  CHECK(formulas.mean() <= 10);
  CHECK(errors.mean() <= 10);
}

TEST_CASE("forecast: vTrain's iterations, three numbers fitted on one half and tested on the other") {
  const auto rows = vtrain_runs("multi_node");
  std::array<std::vector<Run>, 2> halves;
  for (std::size_t i = 0; i < rows.size(); ++i) halves[i % 2].push_back(rows[i]);
  Errors errors;
  for (const std::size_t fit : {std::size_t{0}, std::size_t{1}}) {
    const Hardware h = fitted(cluster(), halves[fit]);
    const Errors tested = errors_of(h, halves[1 - fit]);
    print("vTrain, eG " + std::to_string(h.gemm.efficiency) + " eM " +
              std::to_string(h.traffic_efficiency[1]) + " eN " + std::to_string(h.network.efficiency),
          tested);
    errors.percent.insert(errors.percent.end(), tested.percent.begin(), tested.percent.end());
  }
  print("vTrain, two halves", errors);
  CHECK(errors.mean() <= 8);
  CHECK(errors.median() <= 5);
}

}  // namespace pipeloom::io::forecast_vtrain_test
