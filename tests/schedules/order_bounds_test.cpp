// Bounds on orders against recorded orders: none may pass what a recorded order took within the memory that it took.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedules/recorded.hpp"
#include "sim/orders/bounds/bounds.hpp"
#include "support/catch.hpp"

namespace pipeloom::order_bounds_test {
namespace {

using namespace orders;

using Json = nlohmann::json;

std::size_t rank_of(const std::string& placement, std::size_t ranks, std::size_t stage) {
  if (placement == "V") return stage < ranks ? stage : 2 * ranks - 1 - stage;
  return stage % ranks;
}

/// A number of the case that is one for all stages or a list of them.
Ticks number(const Json& one, const char* key, std::size_t stage) {
  const Json& value = one[key];
  return value.is_array() ? value[stage].get<Ticks>() : value.get<Ticks>();
}

/// Memory: F takes m_b, I gives back m_b - m_w, W the rest. Cases of unequal stages say what each op adds.
void read_memory(const Json& one, std::size_t stage, StageWork& work) {
  if (one.contains("mem_f")) {
    work.held = number(one, "mem_f", stage);
    work.kept = work.held + number(one, "mem_b", stage);
  } else {
    work.held = number(one, "m_b", stage);
    work.kept = number(one, "m_w", stage);
  }
}

/// Limits: stated, or what the recorded order took.
std::vector<Bytes> limits_of(const Json& one, std::size_t ranks) {
  if (const Json limit = one.value("mem_limit", Json()); !limit.is_null())
    return limit.is_array() ? limit.get<std::vector<Bytes>>() : std::vector<Bytes>(ranks, limit.get<Bytes>());
  if (one.contains("inflight_limit"))
    return std::vector<Bytes>(ranks, one["inflight_limit"].get<Bytes>() * one["m_b"].get<Bytes>());
  std::vector<Bytes> peaks = one["peak_mem"];
  return std::vector<Bytes>(ranks, std::ranges::max(peaks));
}

Problem problem_of(const Json& one) {
  const std::size_t ranks = one["p"];
  const bool adaptive = one.contains("inflight_limit");
  const std::size_t chunks = one.value("v", std::size_t{adaptive ? 2U : 1U});
  const std::string placement = one.value("placement", adaptive ? "V" : "linear");
  Problem out;
  out.microbatches = one["m"];
  out.cut = !one.value("fused_bw", false);
  out.stages_of.resize(ranks);
  for (std::size_t s = 0; s < ranks * chunks; ++s) {
    StageWork work;
    work.rank = rank_of(placement, ranks, s);
    work.chunk = out.stages_of[work.rank].size();
    work.forward = number(one, "t_f", s);
    work.input = number(one, "t_b", s);
    work.weight = number(one, "t_w", s);
    read_memory(one, s, work);
    if (!out.cut) {
      work.input += std::exchange(work.weight, 0);
      work.kept = 0;
    }
    const auto hops_to = [&](std::size_t other) { return rank_of(placement, ranks, other) != work.rank; };
    if (s > 0 && hops_to(s - 1)) work.forward_delay = one["t_comm"];
    if (s + 1 < ranks * chunks && hops_to(s + 1)) work.gradient_delay = one["t_comm"];
    out.stages_of[work.rank].push_back(s);
    out.stages.push_back(work);
  }
  out.limit = limits_of(one, ranks);
  set_objective(out, Objective::Window);
  return out;
}

/// What a class of cases came to.
struct Tally {
  int cases = 0;
  int proven = 0;
  double gap = 0;  ///< sum of recorded / bound - 1
  double worst = 0;
  std::map<std::string, int> best;  ///< how often each bound was the best

  void add(const Bound& bound, Ticks recorded) {
    ++cases;
    if (bound.value == recorded) ++proven;
    const double over = static_cast<double>(recorded) / static_cast<double>(bound.value) - 1;
    gap += over;
    worst = std::max(worst, over);
    ++best[std::string(bound.name)];
  }
};

/// Fails the test where a bound is larger than what the recorded order took.
void check_case(const Json& one, Ticks cost, Tally& tally) {
  INFO(one["id"].get<std::string>());
  Problem problem = problem_of(one);
  for (const Bound& bound : all_bounds(problem)) {
    INFO(bound.name << " of the window");
    CHECK(bound.value <= cost);
  }
  tally.add(best_bound(problem), cost);
  if (!one.contains("makespan")) return;
  set_objective(problem, Objective::Makespan);
  for (const Bound& bound : all_bounds(problem)) {
    INFO(bound.name << " of the makespan");
    CHECK(bound.value <= one["makespan"].get<Ticks>());
  }
}

Tally tally_of(const std::string& file) {
  Tally tally;
  for (const Json& one : Json::parse(recorded::read_text("zerobubble/" + file + ".json")))
    check_case(one, one["cost"], tally);
  return tally;
}

/// zb_auto's cases by their limit, in activations per rank.
std::map<std::string, Tally> tallies_of_auto() {
  std::map<std::string, Tally> tallies;
  for (const Json& one : Json::parse(recorded::read_text("zerobubble/zb_auto.json"))) {
    const double share = one["mem_limit"].get<double>() / one["m_b"].get<double>() / one["p"].get<double>();
    check_case(one, one["cost"], tallies[fmt::format("{:.2f}p", share)]);
  }
  return tallies;
}

/// Mean of recorded / bound - 1, in percent.
double mean_gap(const Tally& tally) {
  return 100 * tally.gap / tally.cases;
}

TEST_CASE("bounds on orders: shares of recorded zb-auto cases that are proven optimal") {
  const auto tallies = tallies_of_auto();
  // With room for p activations all of them are. Below p the recorded orders are far from the best.
  CHECK(tallies.at("1.00p").cases == 96);
  CHECK(tallies.at("1.00p").proven == 96);
  CHECK(tallies.at("1.50p").cases == 95);
  CHECK(tallies.at("1.50p").proven >= 87);
  CHECK(mean_gap(tallies.at("1.50p")) < 0.04);
  CHECK(tallies.at("2.00p").cases == 96);
  CHECK(tallies.at("2.00p").proven >= 63);
  CHECK(mean_gap(tallies.at("2.00p")) < 0.13);
  CHECK(tallies.at("0.25p").cases + tallies.at("0.50p").cases + tallies.at("0.75p").cases == 24);
}

TEST_CASE("bounds on orders: none passes what recorded orders of other schedules take") {
  struct Row {
    const char* file;
    int cases;
    int proven;  ///< at least
    double gap;  ///< mean, percent, at most
  };
  const Row row =
      GENERATE(Row{"zb_auto_unequal", 10, 4, 1.2}, Row{"zbv_auto", 288, 102, 1.7}, Row{"v_half", 96, 0, 10.8},
               Row{"v_min", 96, 0, 17.9}, Row{"v_adaptive", 18, 4, 5.9}, Row{"zb_h1", 96, 82, 0.6},
               Row{"zb_h2", 96, 54, 1.6}, Row{"1f1b", 96, 24, 1.1}, Row{"1f1b_v", 96, 27, 7.9},
               Row{"gis", 56, 0, 5.3}, Row{"gis_h", 56, 0, 4.0}, Row{"interleaved_1f1b", 162, 60, 1.2});
  INFO(row.file);
  const Tally tally = tally_of(row.file);
  CHECK(tally.cases == row.cases);
  CHECK(tally.proven >= row.proven);
  CHECK(mean_gap(tally) <= row.gap);
}

/// The class of a case of the whole grid: its schedule, its limit in activations of a stage per rank, and how many microbatches it has.
std::string class_of(const Json& one) {
  const Problem problem = problem_of(one);
  const double p = one["p"];
  const double m = one["m"];
  const Bytes held = std::ranges::max(problem.stages, {}, &StageWork::held).held;
  const double share = static_cast<double>(problem.limit.front()) / static_cast<double>(held) / p;
  const std::string many = m <= p ? "m <= p" : m <= 2 * p ? "m <= 2p" : "more";
  return fmt::format("{:10} {:.2f}p {}", one.value("schedule", std::string("ILP")), share, many);
}

/// The least of the recorded costs of a case, of whatever made them; nothing where there is none.
std::optional<Ticks> least_cost(const Json& one) {
  std::optional<Ticks> least;
  for (const char* key : {"cost", "list_scheduler_cost", "ilp_cost", "heuristic_cost"})
    if (const Json cost = one.value(key, Json()); cost.is_number())
      least = std::min(least.value_or(kMaxTicks), cost.get<Ticks>());
  return least;
}

// Not run by default: prints a table of the grid in the folder that ORDERS_GRID names, files of {"cases": [..]}.
TEST_CASE("bounds on orders: a whole grid", "[.]") {
  const char* folder = std::getenv("ORDERS_GRID");
  REQUIRE(folder != nullptr);
  std::map<std::string, Tally> tallies;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".json") continue;
    std::ifstream in(file.path());
    const Json all = Json::parse(in);
    for (const Json& one : all["cases"])
      if (const auto cost = least_cost(one)) check_case(one, *cost, tallies[class_of(one)]);
  }
  for (const auto& [name, tally] : tallies) {
    fmt::print("{:28} proven {:4} of {:4}, gap mean {:6.3f} %, max {:6.2f} %;", name, tally.proven,
               tally.cases, mean_gap(tally), 100 * tally.worst);
    for (const auto& [bound, count] : tally.best) fmt::print(" {} {}", bound, count);
    fmt::print("\n");
  }
}

}  // namespace
}  // namespace pipeloom::order_bounds_test
