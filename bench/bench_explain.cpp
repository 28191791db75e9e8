// How often an explanation is right: causes planted in steps of many schedules under kinds of noise, and what was made of them. Prints a
// table of rates; with -v every run that was not right. With -c how far the step is off that costs calibrated from each run give, instead: from the
// median step, how often it is within half a percent of that and of the mean one, and how often the median of 64 steps is that are drawn with the noise of the
// costs. With -o how often the true costs would be, without noise, and the median of 64 further steps of the same run: the most that anybody can
// know who has not seen the very steps that were measured.
//
//   bench_explain [-v] [-c|-o] [RUNS [WORLD [SEED]]]

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "study/calibrate/calibrate.hpp"
#include "study/explain/robust.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/scenario_run.hpp"
#include "tests/support/planted.hpp"

namespace pipeloom::bench {
namespace {

struct Row {
  std::string name;
  test::PlantedWorld world;
};

constexpr Ticks kMicrosecond = 1'000'000;
constexpr int kOtherSteps = 64;

/// Runs as hosts have them, with a long last stage: ranks launch each op for 0 to `most` us, messages take 20 to 80 us.
test::PlantedWorld launched(Ticks most, int causes, int steps) {
  return {.sigma = 0.003,
          .causes = causes,
          .steps = steps,
          .launch = most * kMicrosecond / 2,
          .least_latency = 20 * kMicrosecond,
          .most_latency = 80 * kMicrosecond,
          .last_stage = 1.5};
}

void add_launched(std::vector<Row>& rows, const std::string& prefix, int causes) {
  const auto add = [&](const std::string& name, const test::PlantedWorld& world) {
    rows.push_back({prefix + name, world});
  };
  for (const Ticks most : {5, 20, 50, 100, 200}) {
    add(fmt::format("launches to {} us", most), launched(most, causes, 5));
    if (most == 100) add("launches to 100 us, 1 step", launched(100, causes, 1));
  }
  for (const Ticks mean : {10, 50, 100}) {
    test::PlantedWorld world = launched(2 * mean, causes, 5);
    world.heavy = true;
    add(fmt::format("heavy launches of {} us", mean), world);
  }
  test::PlantedWorld world = launched(100, causes, 5);
  world.launch_hides = true;
  add("launches to 100 us, hidden by waits", world);
  world = launched(100, causes, 5);
  world.last_stage = 1;
  add("launches to 100 us, equal stages", world);
  world = launched(20, causes, 5);
  world.least_latency = world.most_latency = 1;
  add("launches to 20 us, no latency", world);
  world = launched(100, causes, 5);
  world.collections = 0.01;
  add("collections, launches to 100 us", world);
  world = launched(20, causes, 5);
  world.early_end = 50 * kMicrosecond;
  add("ranges end 0 to 50 us early", world);
}

std::vector<Row> rows() {
  std::vector<Row> rows = {{"no noise", {}},
                           {"noise 1 %", {.sigma = 0.01}},
                           {"noise 3 %", {.sigma = 0.03}},
                           {"clocks, 1 %", {.sigma = 0.01, .clocks = 2}},
                           {"clocks, 3 %", {.sigma = 0.03, .clocks = 2}},
                           {"latencies 30 %", {.sigma = 0.01, .jitter = 0.3}},
                           {"costs wrong by 1 %", {.sigma = 0.01, .wrong_costs = 0.01}},
                           {"costs wrong by 3 %", {.sigma = 0.01, .wrong_costs = 0.03}},
                           {"noise 10 %", {.sigma = 0.1}},
                           {"5 steps, 3 %", {.sigma = 0.03, .steps = 5}},
                           {"small causes, 3 %", {.sigma = 0.03, .size = 0.3}},
                           {"none, 1 %", {.sigma = 0.01, .causes = 0}},
                           {"none, 3 %", {.sigma = 0.03, .causes = 0}},
                           {"none, clocks", {.sigma = 0.01, .clocks = 2, .causes = 0}},
                           {"none, latencies 30 %", {.sigma = 0.01, .jitter = 0.3, .causes = 0}},
                           {"none, costs wrong by 3 %", {.sigma = 0.01, .wrong_costs = 0.03, .causes = 0}}};
  add_launched(rows, "", -1);
  add_launched(rows, "none, ", 0);
  return rows;
}

/// Of a spread, against the amount it belongs to.
double median_percent(const std::vector<test::JudgedAmount>& amounts, double test::JudgedAmount::*sd) {
  std::vector<double> parts;
  for (const test::JudgedAmount& of : amounts) parts.push_back(100 * of.*sd / std::abs(of.truth));
  return study::explain::median_of(std::move(parts));
}

/// Percent of the amounts that are within two of the spreads that the explanations give.
double within_stated(const std::vector<test::JudgedAmount>& amounts) {
  const auto within = std::count_if(amounts.begin(), amounts.end(), [](const test::JudgedAmount& of) {
    return std::abs(of.amount - of.truth) <= 2 * of.stated_sd;
  });
  return amounts.empty() ? 100 : 100 * static_cast<double>(within) / static_cast<double>(amounts.size());
}

void score(const Row& row, int runs, std::uint64_t seed, bool verbose) {
  int right = 0;
  int false_names = 0;
  int invented = 0;
  std::vector<test::JudgedAmount> amounts;
  int tenth = 0;
  int within = 0;
  double seconds = 0;
  for (int i = 0; i < runs; ++i) {
    const test::PlantedRun run = test::plant(seed + static_cast<std::uint64_t>(i), row.world);
    const auto begin = std::chrono::steady_clock::now();
    const auto found = study::explain::explain(run.predicted, run.measured);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const test::Verdict verdict = test::judge(run, found);
    right += verdict.right ? 1 : 0;
    false_names += verdict.false_name ? 1 : 0;
    invented += verdict.invented ? 1 : 0;
    amounts.insert(amounts.end(), verdict.amounts.begin(), verdict.amounts.end());
    tenth += verdict.within_tenth;
    within += verdict.within;
    if (verbose && !verdict.why.empty())
      fmt::print("{} {}: {}{}", row.name, i, test::told(run, found), verdict.why);
  }
  const int count = static_cast<int>(amounts.size());
  const auto percent = [](int part, int of) { return of == 0 ? 100.0 : 100.0 * part / of; };
  fmt::print("| {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.2f} |\n",
             row.name, percent(right, runs), percent(false_names, runs), percent(invented, runs),
             percent(tenth, count), percent(within, count), median_percent(amounts, &test::JudgedAmount::sd),
             median_percent(amounts, &test::JudgedAmount::stated_sd), within_stated(amounts),
             1000 * seconds / runs);
  std::fflush(stdout);
}

/// Percent that the step is longer than measured ones, if it is simulated with costs calibrated from these.
struct CostsOff {
  double median = 0;  ///< than the median one
  double mean = 0;    ///< than their mean
  double noisy = 0;   ///< the median of kOtherSteps with the noise of the costs, than the median one
};

CostsOff costs_off(const test::PlantedRun& run_of) {
  const Timeline measured = test::as_read(run_of.measured);
  const study::calibrate::Calibration calibration = study::calibrate::calibrate(measured);
  const study::calibrate::Measurements& found = calibration.measured;
  io::Config config;
  config.costs = calibration.costs;
  Limits limits;
  limits.critical_path_entries = 0;
  limits.bound_entries = 0;
  const Run run = study::evaluate_schedule(measured.schedule, "", config, limits);
  const auto simulated = static_cast<double>(span_of(run.timeline).length());
  double sum = 0;
  for (const Ticks step : found.waits.step_times) sum += static_cast<double>(step);
  const double mean = sum / static_cast<double>(found.waits.step_times.size());
  const auto median = static_cast<double>(cost::sample_of(found.waits.step_times).median);
  const double noisy =
      config.costs.noise ? static_cast<double>(study::run_scenarios(run, {.count = kOtherSteps}).makespan.p50)
                         : simulated;
  return {100 * (simulated / median - 1), 100 * (simulated / mean - 1), 100 * (noisy / median - 1)};
}

/// "rank 2 is slower by 15.0 %, ..".
std::string causes_text(const test::PlantedRun& run) {
  std::vector<std::string> texts;
  for (const test::Planted& cause : run.causes) texts.push_back(cause.text);
  return fmt::format("{}", fmt::join(texts, ", "));
}

void score_costs(const Row& row, int runs, std::uint64_t seed, bool verbose) {
  std::vector<double> off;
  int within_of_mean = 0;
  int within_with_noise = 0;
  for (int i = 0; i < runs; ++i) {
    const test::PlantedRun run = test::plant(seed + static_cast<std::uint64_t>(i), row.world);
    const CostsOff found = costs_off(run);
    off.push_back(found.median);
    within_of_mean += std::abs(found.mean) <= 0.5 ? 1 : 0;
    within_with_noise += std::abs(found.noisy) <= 0.5 ? 1 : 0;
    if (verbose && std::abs(off.back()) > 0.5)
      fmt::print("{} {}: {} {:+.2f} %, {:+.2f} % of the mean; {}\n", row.name, i, run.shape, found.median,
                 found.mean, causes_text(run));
  }
  const double middle = study::explain::median_of(off);
  for (double& of : off) of = std::abs(of);
  std::sort(off.begin(), off.end());
  const auto within = std::upper_bound(off.begin(), off.end(), 0.5) - off.begin();
  fmt::print("| {} | {:+.2f} | {:.2f} | {:.2f} | {:.1f} | {:.1f} | {:.1f} |\n", row.name, middle,
             off[off.size() * 95 / 100], off.back(), 100.0 * static_cast<double>(within) / runs,
             100.0 * within_of_mean / runs, 100.0 * within_with_noise / runs);
  std::fflush(stdout);
}

Ticks length_of_step(const Timeline& timeline, int step) {
  return span_of(timeline, step).length();
}

/// Percent that the step with true costs and the median of further ones are longer than the measured median.
struct OracleOff {
  double costs = 0;
  double steps = 0;
};

OracleOff oracle_off(std::uint64_t seed, test::PlantedWorld world) {
  const int measured = world.steps;
  world.steps += kOtherSteps;
  const test::PlantedRun run = test::plant(seed, world);
  std::vector<Ticks> seen;
  std::vector<Ticks> others;
  for (int step = 0; step < world.steps; ++step)
    (step < measured ? seen : others).push_back(length_of_step(run.measured, step));
  const auto median = static_cast<double>(cost::sample_of(std::move(seen)).median);
  const auto percent = [median](Ticks step) { return 100 * (static_cast<double>(step) / median - 1); };
  return {percent(run.even_step), percent(cost::sample_of(std::move(others)).median)};
}

void score_oracles(const Row& row, int runs, std::uint64_t seed) {
  int costs = 0;
  int steps = 0;
  for (int i = 0; i < runs; ++i) {
    const OracleOff off = oracle_off(seed + static_cast<std::uint64_t>(i), row.world);
    costs += std::abs(off.costs) <= 0.5 ? 1 : 0;
    steps += std::abs(off.steps) <= 0.5 ? 1 : 0;
  }
  fmt::print("| {} | {:.1f} | {:.1f} |\n", row.name, 100.0 * costs / runs, 100.0 * steps / runs);
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  bool verbose = false;
  bool costs = false;
  bool oracles = false;
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "-v")
      verbose = true;
    else if (std::string(argv[i]) == "-c")
      costs = true;
    else if (std::string(argv[i]) == "-o")
      oracles = true;
    else
      words.emplace_back(argv[i]);
  }
  const int runs = words.empty() ? 1000 : std::atoi(words[0].c_str());
  const std::uint64_t seed = words.size() > 2 ? std::strtoull(words[2].c_str(), nullptr, 10) : 1;
  if (oracles)
    fmt::print("| world | true costs within 0.5 % | median of other steps within 0.5 % |\n|---|---|---|\n");
  else if (costs)
    fmt::print(
        "| world | median off % | 95 of 100 within % | most % | within 0.5 % | of the mean step | with "
        "noise |\n"
        "|---|---|---|---|---|---|---|\n");
  else
    fmt::print(
        "| world | right % | false name % | invented % | amounts within 10 % | or 2 sd | median sd % | "
        "stated "
        "sd % "
        "| within 2 stated | ms a run |\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (const Row& row : rows())
    if (words.size() < 2 || row.name.find(words[1]) != std::string::npos) {
      if (oracles)
        score_oracles(row, runs, seed);
      else
        (costs ? score_costs : score)(row, runs, seed, verbose);
    }
  return 0;
}

}  // namespace
}  // namespace pipeloom::bench

int main(int argc, char** argv) {
  return pipeloom::bench::run(argc, argv);
}
