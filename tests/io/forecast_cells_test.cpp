// vTrain's iterations on up to 8 A100 (tests/golden/forecast/vtrain.json). They are sums: 960 rows of 32 cells of hidden size, tensor size and
// microbatch, in each of which a layer, a head and an embedding take the same time whatever the pipeline. So they test how times are put together,
// and what shapes say of a cell that nobody measured.

#include <array>
#include <map>
#include <tuple>

#include "io/forecast_rows.hpp"
#include "sim/hardware/layer_time.hpp"
#include "sim/io/hardware/hardware_file.hpp"
#include "support/catch.hpp"

namespace pipeloom::io::forecast_cells_test {
namespace {

using namespace forecast;
using hardware::Hardware;

constexpr double kUpdate = 20.1e-12;     // seconds of the optimizer for each parameter of a rank
constexpr double kGradientBytes = 2;     // of a parameter
constexpr double kMessageRate = 13.4e9;  // of messages, which take no rank's time

/// Seconds of a microbatch, forward and backward.
struct CellTime {
  double layer = 3e-3;
  double head = 3e-3;
  double embedding = 5e-4;

  double& operator[](std::size_t i) { return i == 0 ? layer : i == 1 ? head : embedding; }
};

struct Cell {
  std::vector<GptRun> rows;
};
using CellKey = std::tuple<std::int64_t, int, std::int64_t>;  // hidden, t, microbatch

std::map<CellKey, Cell> cells() {
  std::map<CellKey, Cell> out;
  for (GptRun& run : vtrain_runs("single_node"))
    out[{run.model.hidden, run.split.tensor, run.split.micro_batch}].rows.push_back(std::move(run));
  return out;
}

/// A third of the time is the forward; only whether all stages have the same third matters.
double forecast_of(const Hardware& h, const GptRun& run, const CellTime& time) {
  const int p = run.split.pipeline;
  const double layers = static_cast<double>(run.model.layers.size()) / p;
  std::vector<StageTime> stages;
  double end = 0;
  for (int s = 0; s < p; ++s) {
    const double whole = layers * time.layer + (s == 0 ? time.embedding : 0) + (s == p - 1 ? time.head : 0);
    stages.push_back({whole / 3, whole * 2 / 3});
    const double parameters = stage_parameters(run, s);
    const int d = run.split.data;
    end = std::max(end,
                   kUpdate * parameters + reduction(h, kGradientBytes * parameters, 0, d, d, false).seconds);
  }
  return one_f_one_b(stages, run.microbatches, states_of(run) / run.split.tensor / kMessageRate) + end;
}

/// The three numbers of the least squares of relative errors, by Gauss' and Newton's steps; what rows cannot tell apart stays where it began.
CellTime fitted(const Hardware& h, const std::vector<GptRun>& rows) {
  CellTime time;
  const CellTime begin;
  for (int step = 0; step < 12; ++step) {
    std::array<std::array<double, 4>, 3> normal = {};
    for (const GptRun& run : rows) {
      const double here = forecast_of(h, run, time);
      std::array<double, 4> row = {0, 0, 0, (run.seconds - here) / run.seconds};
      for (std::size_t i = 0; i < 3; ++i) {
        CellTime moved = time;
        moved[i] += 1e-6;
        row[i] = (forecast_of(h, run, moved) - here) / 1e-6 / run.seconds;
      }
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 4; ++j) normal[i][j] += row[i] * row[j];
    }
    CellTime start = begin;
    for (std::size_t i = 0; i < 3; ++i) {
      normal[i][i] += 1e-2;
      normal[i][3] += 1e-2 * (start[i] - time[i]);
    }
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) {
        if (i == j) continue;
        const double factor = normal[j][i] / normal[i][i];
        for (std::size_t k = i; k < 4; ++k) normal[j][k] -= factor * normal[i][k];
      }
    for (std::size_t i = 0; i < 3; ++i) time[i] = std::max(0.0, time[i] + normal[i][3] / normal[i][i]);
  }
  return time;
}

/// What shapes say, and the numbers that are fitted.
struct Shapes {
  Hardware hardware;
  double unaligned_head = 1;  ///< factor on the head with one tensor rank
};
constexpr std::size_t kFitted = 5;
using Numbers = std::array<double, kFitted>;  // floor, its growth, factor on the head, eG, eM

Shapes shapes_of(Hardware h, const Numbers& numbers) {
  h.gemm.tables = {};
  h.launch.layer_floor = numbers[0];
  h.launch.floor_growth = numbers[1];
  h.gemm.efficiency = numbers[3];
  h.traffic_efficiency[1] = numbers[4];
  return {std::move(h), numbers[2]};
}

CellTime time_by(const Shapes& shapes, const Cell& cell) {
  const GptRun& run = cell.rows.front();
  const auto& m = run.model;
  const auto& split = run.split;
  const Hardware& h = shapes.hardware;
  CellTime time;
  time.layer = layer_time(h, work_of(m, m.kinds[0], split), split, m.norm).total();
  time.head = work_time(h, head_work(m, split), split, m.norm).total() *
              (split.tensor == 1 ? shapes.unaligned_head : 1);
  time.embedding = work_time(h, embedding_work(m, split), split, m.norm).total();
  return time;
}

/// Mean error in the time of a layer and head of each cell but one, with weights as rows have them: 20 layers and a head.
double error_of(const Hardware& h, const Numbers& numbers, const std::vector<Cell>& all,
                const std::vector<CellTime>& measured, std::size_t without) {
  const Shapes shapes = shapes_of(h, numbers);
  double sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == without) continue;
    const CellTime time = time_by(shapes, all[i]);
    const auto whole = [](const CellTime& t) { return 20 * t.layer + t.head + t.embedding; };
    sum += std::abs(whole(time) / whole(measured[i]) - 1) * static_cast<double>(all[i].rows.size());
  }
  return sum;
}

/// By turns each number a little up or down while that helps.
Numbers numbers_without(const Hardware& h, const std::vector<Cell>& all,
                        const std::vector<CellTime>& measured, std::size_t without) {
  Numbers numbers = {2.9e-3, 0.1, 3, 0.8, 0.7};
  double best = error_of(h, numbers, all, measured, without);
  for (double step = 0.3; step > 0.01; step /= 2)
    for (bool better = true; better;) {
      better = false;
      for (std::size_t i = 0; i < kFitted; ++i)
        for (const double factor : {1 + step, 1 / (1 + step)}) {
          Numbers tried = numbers;
          tried[i] *= factor;
          if (i >= 3) tried[i] = std::min(tried[i], 1.0);
          const double error = error_of(h, tried, all, measured, without);
          if (error >= best * (1 - 1e-6)) continue;
          best = error;
          numbers = tried;
          better = true;
        }
    }
  return numbers;
}

}  // namespace

TEST_CASE("forecast: vTrain's iterations in one node are 1F1B of a layer, a head and an embedding") {
  const auto a100 = find_hardware("a100", {});
  Errors errors;
  for (const auto& [key, cell] : cells()) {
    std::vector<GptRun> even;
    for (const GptRun& run : cell.rows)
      if (run.source_row % 2 == 0) even.push_back(run);
    if (even.empty()) continue;  // two cells have no row that could be fitted to
    const CellTime time = fitted(*a100, even);
    for (const GptRun& run : cell.rows)
      if (run.source_row % 2 != 0) errors.add(run.seconds, forecast_of(*a100, run, time));
  }
  print("vTrain, one node, composed", errors);
  CHECK(errors.percent.size() >= 470);
  CHECK(errors.mean() <= 0.5);
}

TEST_CASE(
    "forecast: a cell of vTrain's iterations in one node that was left out, from shapes and five numbers") {
  const auto a100 = find_hardware("a100", {});
  std::vector<Cell> all;
  std::vector<CellTime> measured;
  for (const auto& [key, cell] : cells()) {
    all.push_back(cell);
    measured.push_back(fitted(*a100, cell.rows));
  }
  REQUIRE(all.size() == 32);
  Errors errors;
  for (std::size_t out = 0; out < all.size(); ++out) {
    const Numbers numbers = numbers_without(*a100, all, measured, out);
    const CellTime time = time_by(shapes_of(*a100, numbers), all[out]);
    for (const GptRun& run : all[out].rows) errors.add(run.seconds, forecast_of(*a100, run, time));
  }
  print("vTrain, one node, a cell left out", errors);
  CHECK(errors.mean() <= 8);
}

}  // namespace pipeloom::io::forecast_cells_test
