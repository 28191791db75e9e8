// Bounds on orders against recorded orders: none may pass what a recorded order took within the memory that it took.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

#include "schedules/recorded_problem.hpp"
#include "sim/orders/bounds/bounds.hpp"
#include "support/catch.hpp"

namespace pipeloom::order_bounds_test {
namespace {

using namespace orders;

using recorded::OrderCase;

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
void check_case(const OrderCase& one, Ticks cost, Tally& tally) {
  INFO(one.id);
  Problem problem = one.problem;
  for (const Bound& bound : all_bounds(problem)) {
    INFO(bound.name << " of the window");
    CHECK(bound.value <= cost);
  }
  tally.add(best_bound(problem), cost);
  if (!one.makespan) return;
  set_objective(problem, Objective::Makespan);
  for (const Bound& bound : all_bounds(problem)) {
    INFO(bound.name << " of the makespan");
    CHECK(bound.value <= *one.makespan);
  }
}

Tally tally_of(const std::string& file) {
  Tally tally;
  for (const OrderCase& one : recorded::golden_order_cases(file)) check_case(one, *one.cost, tally);
  return tally;
}

/// zb_auto's cases by their limit, in activations per rank.
std::map<std::string, Tally> tallies_of_auto() {
  std::map<std::string, Tally> tallies;
  for (const OrderCase& one : recorded::golden_order_cases("zb_auto"))
    check_case(one, *one.cost, tallies[fmt::format("{:.2f}p", one.share())]);
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
  const Row row = GENERATE(
      Row{"zb_auto_unequal", 10, 4, 1.2}, Row{"zbv_auto", 288, 150, 0.71}, Row{"v_half", 96, 17, 1.9},
      Row{"v_min", 96, 12, 10.5}, Row{"v_adaptive", 18, 14, 0.2}, Row{"zb_h1", 96, 82, 0.6},
      Row{"zb_h2", 96, 54, 1.6}, Row{"1f1b", 96, 24, 1.1}, Row{"1f1b_v", 96, 27, 7.9}, Row{"gis", 56, 0, 5.3},
      Row{"gis_h", 56, 0, 4.0}, Row{"interleaved_1f1b", 162, 60, 1.2});
  INFO(row.file);
  const Tally tally = tally_of(row.file);
  CHECK(tally.cases == row.cases);
  CHECK(tally.proven >= row.proven);
  CHECK(mean_gap(tally) <= row.gap);
}

/// The class of a case of the whole grid: its schedule, its limit in activations of a stage per rank, and how many microbatches it has.
std::string class_of(const OrderCase& one) {
  const std::size_t p = one.problem.ranks();
  const auto m = static_cast<std::size_t>(one.problem.microbatches);
  const std::string many = m <= p ? "m <= p" : m <= 2 * p ? "m <= 2p" : "more";
  return fmt::format("{:10} {:.2f}p {}", one.schedule, one.share(), many);
}

// Not run by default: prints a table of the grid in the folder that ORDERS_GRID names, files of {"cases": [..]}.
TEST_CASE("bounds on orders: a whole grid", "[.]") {
  const char* folder = std::getenv("ORDERS_GRID");
  REQUIRE(folder != nullptr);
  std::map<std::string, Tally> tallies;
  for (const OrderCase& one : recorded::order_cases_in(folder))
    if (one.least) check_case(one, *one.least, tallies[class_of(one)]);
  for (const auto& [name, tally] : tallies) {
    fmt::print("{:28} proven {:4} of {:4}, gap mean {:6.3f} %, max {:6.2f} %;", name, tally.proven,
               tally.cases, mean_gap(tally), 100 * tally.worst);
    for (const auto& [bound, count] : tally.best) fmt::print(" {} {}", bound, count);
    fmt::print("\n");
  }
}

}  // namespace
}  // namespace pipeloom::order_bounds_test
