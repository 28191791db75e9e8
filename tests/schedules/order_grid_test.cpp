// The search for orders against what others found for the same times and limits.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "schedules/recorded_problem.hpp"
#include "sim/orders/search/search.hpp"
#include "support/catch.hpp"

namespace pipeloom::order_grid_test {
namespace {

using orders::Objective;
using recorded::OrderCase;

/// Ops that each of the search's four chains may time.
constexpr std::int64_t kWork = 8'000'000;

/// What a set of cases came to.
struct Tally {
  int cases = 0;
  int worse = 0;
  double worst = 0;  ///< of those: share above the recorded cost
  int better = 0;
  double gain = 0;  ///< sum of 1 - found / recorded
  int proven = 0;
  double gap = 0;      ///< sum of found / bound - 1
  double most = 0;     ///< sum of 1 - bound / recorded: what no order can gain more than
  double seconds = 0;  ///< of CPU

  void add(const Tally& other) {
    cases += other.cases;
    worse += other.worse;
    worst = std::max(worst, other.worst);
    better += other.better;
    gain += other.gain;
    proven += other.proven;
    gap += other.gap;
    most += other.most;
    seconds += other.seconds;
  }

  [[nodiscard]] double mean_gain() const { return 100 * gain / cases; }
  [[nodiscard]] double mean_most() const { return 100 * most / cases; }
  [[nodiscard]] double mean_gap() const { return 100 * gap / cases; }
};

struct Asked {
  Objective objective = Objective::Window;
  bool starts = false;  ///< whether the recorded order is one
  std::int64_t work = kWork;
};

/// Searches and adds what came of it. `recorded`: the least cost that others found.
void run_case(const OrderCase& one, Ticks recorded, const Asked& asked, Tally& tally) {
  INFO(one.id);
  orders::Problem problem = one.problem;
  set_objective(problem, asked.objective);
  std::vector<orders::StartOrder> starts;
  if (asked.starts)
    if (auto order = one.order()) starts.push_back({"recorded", std::move(*order)});
  const std::clock_t began = std::clock();
  const auto found = search_order(problem, starts, {.work = asked.work});
  tally.seconds += static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  REQUIRE(found);
  CHECK(value_of(problem, found->order) == found->value);
  CHECK(keeps_limits(problem, found->order));
  CHECK(found->bound.value <= recorded);
  CHECK(found->bound.value <= found->value);
  const double ratio = static_cast<double>(found->value) / static_cast<double>(recorded);
  ++tally.cases;
  tally.worse += found->value > recorded ? 1 : 0;
  tally.better += found->value < recorded ? 1 : 0;
  tally.worst = std::max(tally.worst, ratio - 1);
  tally.gain += 1 - ratio;
  tally.proven += found->proven ? 1 : 0;
  tally.gap += found->gap();
  tally.most += 1 - static_cast<double>(found->bound.value) / static_cast<double>(recorded);
}

/// "0.25p" to "2.00p": room for so many activations per rank.
std::string limit_name(const OrderCase& one) {
  return fmt::format("{:.2f}p", one.share());
}

/// Few, some or many microbatches: what can be gained falls with them.
std::string size_name(const OrderCase& one) {
  const std::size_t m = one.problem.microbatches;
  return m <= one.problem.ranks() ? ", m <= p" : m <= 2 * one.problem.ranks() ? ", m <= 2p" : ", more";
}

std::size_t size_of(const OrderCase& one) {
  return one.problem.ranks() * static_cast<std::size_t>(one.problem.microbatches);
}

/// Every `step`th case of a file that has at most so many microbatches and ranks to time.
std::vector<OrderCase> some_of(const std::string& file, std::size_t step) {
  constexpr std::size_t kMost = 5000;  // ranks times microbatches: the larger ones are for the whole grid
  std::vector<OrderCase> out;
  const std::vector<OrderCase> all = recorded::golden_order_cases(file);
  for (std::size_t i = 0; i < all.size(); i += step)
    if (size_of(all[i]) <= kMost) out.push_back(all[i]);
  return out;
}

}  // namespace

TEST_CASE("order grid: recorded orders are read as words, with their cost and within their limit") {
  for (const char* file : {"zb_auto", "zbv_auto", "v_half", "v_min", "zb_h1", "zb_h2"})
    for (const OrderCase& one : some_of(file, 7)) {
      INFO(one.id);
      const auto order = one.order();
      REQUIRE(order);
      CHECK(value_of(one.problem, *order) == *one.cost);
      CHECK(keeps_limits(one.problem, *order));
    }
}

TEST_CASE("order grid: a tenth of zb-auto's cases, without published orders", "[quality]") {
  std::map<std::string, Tally> tallies;
  for (const OrderCase& one : some_of("zb_auto", 10)) run_case(one, *one.least, {}, tallies[limit_name(one)]);
  for (const auto& [limit, tally] : tallies) {
    INFO(limit);
    CHECK(tally.worse == 0);
    if (limit == "1.00p") CHECK(tally.proven == tally.cases);
    if (limit == "1.50p") CHECK(tally.mean_gap() < 0.05);
    if (limit == "2.00p") CHECK(tally.mean_gap() < 0.1);
  }
  CHECK(tallies.at("1.00p").cases + tallies.at("1.50p").cases + tallies.at("2.00p").cases >= 25);
}

TEST_CASE("order grid: cases below p activations, without published orders", "[quality]") {
  Tally tally;
  for (const OrderCase& one : some_of("zb_auto", 1))
    if (limit_name(one) < "1.00p" && size_of(one) <= 300) run_case(one, *one.least, {}, tally);
  CHECK(tally.cases >= 5);
  CHECK(tally.worse == 0);
}

TEST_CASE("order grid: unequal stages, without published orders", "[quality]") {
  Tally tally;
  for (const OrderCase& one : recorded::golden_order_cases("zb_auto_unequal"))
    run_case(one, *one.least, {}, tally);
  CHECK(tally.cases == 10);
  CHECK(tally.worse == 0);
  CHECK(tally.better >= 6);
  CHECK(tally.mean_gain() > 0.9);
}

TEST_CASE("order grid: cases that were given to an integer program are met and proven") {
  Tally tally;
  int said = 0;
  for (const OrderCase& one : recorded::golden_order_cases("ilp")) {
    const Ticks recorded = *one.least;
    run_case(one, recorded, {}, tally);
    said += one.proven ? 1 : 0;
  }
  CHECK(tally.cases == 55);
  CHECK(tally.worse == 0);
  CHECK(tally.better >= 6);  // a tenth; its solver ran out of time there
  CHECK(tally.proven >= said);
  CHECK(tally.proven >= 54);
}

TEST_CASE("order grid: recorded orders as starts are never made worse, in window and makespan", "[quality]") {
  for (const char* file : {"zb_auto", "zbv_auto", "v_half", "v_min"}) {
    INFO(file);
    Tally window;
    Tally makespan;
    for (const OrderCase& one : some_of(file, 24)) {
      run_case(one, *one.cost, {.starts = true, .work = kWork / 2}, window);
      run_case(one, *one.makespan, {Objective::Makespan, true, kWork / 2}, makespan);
    }
    CHECK(window.worse == 0);
    CHECK(makespan.worse == 0);
    // What the recorded V orders of a fixed form leave: without the search both are 0.
    if (std::string(file) == "v_half") CHECK(window.mean_gain() > 1);
    if (std::string(file) == "v_min") CHECK(window.mean_gain() > 1);
  }
}

// Not run by default: prints a table of the whole grid in the folder that ORDERS_GRID names, files of
// {"cases": [..]}. ORDERS_WORK: ops for each chain; ORDERS_EVERY: one case in so many; ORDERS_SET: those sets
// alone whose name begins so.
TEST_CASE("order grid: the whole", "[.]") {
  const char* folder = std::getenv("ORDERS_GRID");
  REQUIRE(folder != nullptr);
  const auto number = [](const char* name, std::int64_t other) {
    const char* text = std::getenv(name);
    return text == nullptr ? other : std::atoll(text);
  };
  const std::int64_t work = number("ORDERS_WORK", 20'000'000);
  const auto every = static_cast<std::size_t>(number("ORDERS_EVERY", 1));
  const char* wanted = std::getenv("ORDERS_SET");
  std::map<std::string, Tally> tallies;
  std::size_t i = 0;
  for (const OrderCase& one : recorded::order_cases_in(folder)) {
    const bool named = one.limited && one.schedule != "ILP";
    const std::string set = one.schedule + (named ? " " + limit_name(one) : "");
    if (wanted != nullptr && !set.starts_with(wanted)) continue;
    if (!one.least || one.fused || i++ % every != 0) continue;
    Tally tally;
    run_case(one, *one.least, {Objective::Window, !one.linear, work}, tally);
    tallies[set].add(tally);
    if (!one.linear) tallies[set + size_name(one)].add(tally);
    if (!one.linear && size_of(one) <= 3000) tallies[set + ", pm <= 3000"].add(tally);
  }
  for (const auto& [set, t] : tallies)
    fmt::print("| {} | {} | {} ({:.2f} %) | {} | {:.2f} % | {:.2f} % | {} | {:.3f} % | {:.2f} |\n", set,
               t.cases, t.worse, 100 * t.worst, t.better, t.mean_gain(), t.mean_most(), t.proven,
               t.mean_gap(), t.seconds / t.cases);
}

}  // namespace pipeloom::order_grid_test
