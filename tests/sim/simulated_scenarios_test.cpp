#include "sim/analysis/simulated_scenarios.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <variant>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/engine/simulator.hpp"
#include "support/catch.hpp"
#include "support/noise.hpp"
#include "support/random_problem.hpp"
#include "support/scenes.hpp"

namespace pipeloom::simulated_scenarios_test {
using test::lognormal;
using test::mean_of;

namespace {

double sum_of_path(const ScenarioTimes& times) {
  double sum = std::accumulate(times.link_on_path.begin(), times.link_on_path.end(), 0.0);
  for (const std::vector<double>& slots : times.on_path)
    sum = std::accumulate(slots.begin(), slots.end(), sum);
  return sum;
}

/// Rank 1 recomputes what its stage forgot: two ranks, F 1, R 1, B 2.
std::shared_ptr<const Schedule> recomputed(int microbatches) {
  ScheduleBuilder builder(Placement::linear(2), microbatches);
  builder.begin_rank(Rank(0));
  for (int k = 0; k < microbatches; ++k) builder.add(forward(Stage(0), Microbatch(k)));
  for (int k = 0; k < microbatches; ++k) builder.add(backward(Stage(0), Microbatch(k)));
  builder.begin_rank(Rank(1));
  for (int k = 0; k < microbatches; ++k) {
    builder.add(forward(Stage(1), Microbatch(k)));
    builder.add(Op(OpKind::Recompute, Stage(1), Microbatch(k)));
    builder.add(backward(Stage(1), Microbatch(k)));
  }
  return std::make_shared<const Schedule>(std::move(builder).build());
}

Costs costs_of(const Schedule& schedule) {
  return uniform_costs(schedule.placement(), {.forward = 1'000'000, .backward = 2'000'000, .delay = 100'000});
}

}  // namespace

TEST_CASE("a scenario without noise is the simulation, whatever the schedule") {
  const Noise none;
  int extended = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    auto [schedule, costs] = test::random_problem(5'000'000 + seed);
    test::Random random(seed);
    test::add_besides(random, *schedule, costs);
    if (!supports_simulated_scenarios(costs, none)) continue;
    if (!Scenarios::supports(*schedule, costs)) ++extended;
    const ScenarioTimes times = simulated_scenarios(*schedule, costs, none, 2, seed);
    const auto outcome = Simulator().evaluate(*schedule, costs, default_memory(schedule->placement()));
    const Totals& totals = std::get<Totals>(outcome);
    const Ticks makespan = *std::max_element(totals.last_end.begin(), totals.last_end.end());
    REQUIRE(times.makespan == std::vector<Ticks>{makespan, makespan});
    const double whole = static_cast<double>(makespan) * schedule->ranks();
    const Ticks busy = std::accumulate(totals.busy.begin(), totals.busy.end(), Ticks{0});
    REQUIRE(times.bubble[0] == Approx(whole > 0 ? 1 - static_cast<double>(busy) / whole : 0));
  }
  CHECK(extended > 50);
}

TEST_CASE("where a pass over the order has scenarios too, both have the same quantiles") {
  const auto schedule = test::one_f_one_b(4, 12);
  const Costs costs = costs_of(*schedule);
  constexpr std::size_t kCount = 4'000;
  const auto sorted = [](std::vector<Ticks> values) {
    std::sort(values.begin(), values.end());
    return values;
  };
  const auto whole = sorted(simulated_scenarios(*schedule, costs, lognormal(0.1), int{kCount}, 1).makespan);
  const auto pass = sorted(Scenarios(*schedule, costs, lognormal(0.1)).run(int{kCount}, 2).makespan);
  for (const std::size_t at : {kCount / 2, kCount * 95 / 100})
    CHECK(static_cast<double>(whole[at]) == Approx(static_cast<double>(pass[at])).epsilon(0.005));
}

TEST_CASE("recomputation varies as it is said to, and the step hangs on it as finite differences say") {
  const auto schedule = recomputed(20);
  const Costs costs = costs_of(*schedule);
  constexpr int kCount = 1'000;
  const ScenarioTimes times = simulated_scenarios(*schedule, costs, lognormal(0.05), kCount, 3);
  const double mean = mean_of(times.makespan);
  // F of rank 0 and a hop, 20 (F + R + B) on rank 1, a hop and B of rank 0; ops vary about 1.00125 times their times.
  CHECK(mean == Approx(1.00125 * (1 + 20 * 4 + 2) * 1e6 + 2 * 1e5).epsilon(0.001));
  CHECK(sum_of_path(times) == Approx(mean * kCount).epsilon(1e-9));
  const std::size_t kind = index_of(OpKind::Recompute);
  Costs slower = costs;
  slower.duration[kind][1] += slower.duration[kind][1] / 1000;
  const double changed = mean_of(simulated_scenarios(*schedule, slower, lognormal(0.05), kCount, 3).makespan);
  CHECK((changed / mean - 1) / 0.001 == Approx(times.on_path[kind][1] / (mean * kCount)).epsilon(0.01));
}

TEST_CASE("simulated scenarios refuse what does not fit, and pauses") {
  const auto schedule = recomputed(2);
  const Costs costs = costs_of(*schedule);
  CHECK_FALSE(supports_simulated_scenarios(costs, {.model = NoiseModel::Hiccup, .period = 9, .time = 1}));
  Costs huge = costs;
  huge.duration[index_of(OpKind::Backward)][1] = kMaxTicks / 40;
  CHECK_NOTHROW(simulated_scenarios(*schedule, huge, {}, 1, 0));
  CHECK_THROWS_AS(simulated_scenarios(*schedule, huge, lognormal(3), 1, 0), InputError);
}

}  // namespace pipeloom::simulated_scenarios_test
