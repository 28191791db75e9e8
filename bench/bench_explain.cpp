// How often an explanation is right: causes planted in steps of many schedules under kinds of noise, and what was made of them. Prints a
// table of rates; with -v every run that was not right.
//
//   bench_explain [-v] [RUNS [WORLD]]

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "study/explain/robust.hpp"
#include "tests/support/planted.hpp"

namespace pipeloom::bench {
namespace {

struct Row {
  const char* name;
  test::PlantedWorld world;
};

std::vector<Row> rows() {
  return {{"no noise", {}},
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
    amounts.insert(amounts.end(), verdict.amounts.begin(), verdict.amounts.end());
    tenth += verdict.within_tenth;
    within += verdict.within;
    if (verbose && !verdict.why.empty())
      fmt::print("{} {}: {}{}", row.name, i, test::told(run, found), verdict.why);
  }
  const int count = static_cast<int>(amounts.size());
  const auto percent = [](int part, int of) { return of == 0 ? 100.0 : 100.0 * part / of; };
  fmt::print("| {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.2f} |\n", row.name,
             percent(right, runs), percent(false_names, runs), percent(tenth, count), percent(within, count),
             median_percent(amounts, &test::JudgedAmount::sd),
             median_percent(amounts, &test::JudgedAmount::stated_sd), within_stated(amounts),
             1000 * seconds / runs);
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  bool verbose = false;
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "-v")
      verbose = true;
    else
      words.emplace_back(argv[i]);
  }
  const int runs = words.empty() ? 1000 : std::atoi(words[0].c_str());
  const std::uint64_t seed = words.size() > 2 ? std::strtoull(words[2].c_str(), nullptr, 10) : 1;
  fmt::print(
      "| world | right % | false name % | amounts within 10 % | or 2 sd | median sd % | stated sd % "
      "| within 2 stated | ms a run |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const Row& row : rows())
    if (words.size() < 2 || std::string(row.name).find(words[1]) != std::string::npos)
      score(row, runs, seed, verbose);
  return 0;
}

}  // namespace
}  // namespace pipeloom::bench

int main(int argc, char** argv) {
  return pipeloom::bench::run(argc, argv);
}
