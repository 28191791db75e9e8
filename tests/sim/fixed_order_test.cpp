#include "sim/engine/fixed_order.hpp"

#include <variant>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/engine/simulator.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"
#include "support/scenes.hpp"

namespace pipeloom::fixed_order_test {
namespace {

/// What one pass over a fixed order can do: no microbatch scale, no Sequential groups.
Costs supported(Costs costs) {
  costs.microbatch_scale.clear();
  if (costs.overlap.rule == OverlapRule::Sequential) costs.overlap.rule = OverlapRule::Sum;
  return costs;
}

Totals totals_of(Simulator& simulator, const Schedule& schedule, const Costs& costs) {
  auto outcome = simulator.evaluate(schedule, costs, default_memory(schedule.placement()));
  REQUIRE(std::holds_alternative<Totals>(outcome));
  return std::get<Totals>(std::move(outcome));
}

}  // namespace

TEST_CASE("a fixed order gives 1F1B its makespan under any costs") {
  const FixedOrder order(*test::one_f_one_b(4, 8));
  CHECK(order.ranks() == 4);
  std::vector<Ticks> scratch;
  for (const auto& [f, b] : std::vector<std::pair<Ticks, Ticks>>{{1, 2}, {10, 23}, {0, 0}, {5, 1}})
    CHECK(order.makespan(uniform_costs(Placement::linear(4), {.forward = f, .backward = b}), scratch) ==
          (8 + 4 - 1) * (f + b));
}

TEST_CASE("what a fixed order cannot do is said before") {
  Costs costs = default_costs(Placement::linear(2));
  CHECK(FixedOrder::supports(costs));
  costs.overlap.rule = OverlapRule::Sequential;
  CHECK_FALSE(FixedOrder::supports(costs));
  costs.overlap.rule = OverlapRule::Saving;
  CHECK(FixedOrder::supports(costs));
  costs.microbatch_scale = {kUnitScale};
  CHECK_FALSE(FixedOrder::supports(costs));
}

TEST_CASE("a schedule that hangs has no fixed order") {
  CHECK_THROWS_AS(FixedOrder(*test::scene("0F0 0B0 0F1 0B1 | 1F0 1F1 1B0 1B1")), ScheduleError);
}

TEST_CASE("a fixed order and the engine agree on random problems, under several costs each") {
  Simulator simulator;
  std::vector<Ticks> scratch;
  std::vector<Ticks> last_end;
  Totals found;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const auto problem = test::random_problem(2'300'000 + seed);
    INFO("seed " << seed);
    const FixedOrder order(*problem.schedule);
    test::Random random(seed);
    for (int round = 0; round < 3; ++round) {
      const Costs costs = supported(test::random_costs(random, *problem.schedule));
      REQUIRE(FixedOrder::supports(costs));
      const Totals totals = totals_of(simulator, *problem.schedule, costs);
      REQUIRE(order.makespan(costs, scratch, &last_end) == totals.makespan);
      REQUIRE(last_end == totals.last_end);
      order.totals(costs, scratch, found);
      REQUIRE(found.makespan == totals.makespan);
      REQUIRE(found.first_start == totals.first_start);
      REQUIRE(found.last_end == totals.last_end);
      REQUIRE(found.busy == totals.busy);
    }
  }
}

TEST_CASE("many scenarios at once are the same as one by one") {
  std::vector<Ticks> scratch;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto problem = test::random_problem(2'400'000 + seed);
    INFO("seed " << seed);
    const FixedOrder order(*problem.schedule);
    test::Random random(seed);
    // Full groups of lanes, a remainder, and none.
    std::vector<Costs> costs;
    for (int i = random.below(11); i > 0; --i)
      costs.push_back(supported(test::random_costs(random, *problem.schedule)));
    std::vector<Ticks> makespans(costs.size());
    order.makespans(costs, makespans, scratch);
    for (std::size_t i = 0; i < costs.size(); ++i) REQUIRE(makespans[i] == order.makespan(costs[i], scratch));
  }
}

}  // namespace pipeloom::fixed_order_test
