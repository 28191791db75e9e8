#include "sim/analysis/simulated_scenarios.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <variant>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/engine/simulator.hpp"
#include "sim/messages/message_plans.hpp"
#include "sim/messages/program_scenarios.hpp"
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

TEST_CASE("pauses are those of a pass over the order, and of messages that cost their latency alone") {
  const Noise pauses{.model = NoiseModel::Hiccup, .period = 9'000'000, .time = 700'000};
  int passes = 0;
  int programs = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    auto [schedule, costs] = test::random_problem(6'000'000 + seed);
    test::Random random(seed);
    test::add_besides(random, *schedule, costs);
    const ScenarioTimes whole = simulated_scenarios(*schedule, costs, pauses, 3, seed);
    if (Scenarios::supports(*schedule, costs)) {
      ++passes;
      const ScenarioTimes pass = Scenarios(*schedule, costs, pauses).run(3, seed);
      REQUIRE(whole.makespan == pass.makespan);
      REQUIRE(whole.bubble == pass.bubble);
    }
    // Programs hand on what a group makes at its end, and know no tensors that all ranks share.
    if (costs.overlap.rule == OverlapRule::Sequential || schedule->shares_output() || costs.rank_time != 0)
      continue;
    ++programs;
    const Program program = async_plan(schedule, {ReceivePlacement::Rule::Ahead, 100});
    for (const Noise& noise : {pauses, lognormal(0.1)})
      REQUIRE(program_scenarios(program, costs, {}, noise, 3, seed).makespan ==
              (Scenarios::supports(*schedule, costs) ? Scenarios(*schedule, costs, noise).run(3, seed)
                                                     : simulated_scenarios(*schedule, costs, noise, 3, seed))
                  .makespan);
  }
  CHECK(passes > 50);
  CHECK(programs > 50);
}

TEST_CASE("pauses fall into the parts of a group that take turns as into ops that run one after another") {
  // One rank: F 0, then F k with B k - 1, then the last B.
  const auto one_rank = [](bool grouped) {
    ScheduleBuilder builder(Placement::linear(1), 8);
    builder.begin_rank(Rank(0));
    builder.add(forward(Stage(0), Microbatch(0)));
    for (int k = 1; k < 8; ++k) {
      const std::array<Op, 2> pair = {forward(Stage(0), Microbatch(k)),
                                      backward(Stage(0), Microbatch(k - 1))};
      if (grouped) {
        builder.add_group(pair);
      } else {
        for (const Op op : pair) builder.add(op);
      }
    }
    builder.add(backward(Stage(0), Microbatch(7)));
    return std::make_shared<const Schedule>(std::move(builder).build());
  };
  const auto alone = one_rank(false);
  const auto grouped = one_rank(true);
  Costs costs = costs_of(*grouped);
  costs.overlap.rule = OverlapRule::Sequential;
  const Noise pauses{.model = NoiseModel::Hiccup, .period = 1'300'000, .time = 250'000};
  const ScenarioTimes turns = simulated_scenarios(*grouped, costs, pauses, 50, 2);
  CHECK(turns.makespan == Scenarios(*alone, costs, pauses).run(50, 2).makespan);
  // 24e6 of work, and a pause of 250,000 in every 1,300,000: 24 / (1 - 25 / 130) = 29.7e6.
  CHECK(mean_of(turns.makespan) == Approx(24e6 / (1 - 25.0 / 130)).epsilon(0.005));
}

TEST_CASE("a group with a duration of its own varies as one") {
  // Every duration is three times as long for sure, so that a step without transfers is; a saving stays what it is.
  Noise thrice{.model = NoiseModel::Empirical};
  thrice.factors = {3 * kUnitScale};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    auto [schedule, costs] = test::random_problem(7'000'000 + seed);
    if (costs.overlap.rule == OverlapRule::Saving || costs.overlap.rule == OverlapRule::Factor) continue;
    for (std::vector<Ticks>* delays : {&costs.forward_delay, &costs.backward_delay})
      std::fill(delays->begin(), delays->end(), 0);
    const Ticks once = simulated_scenarios(*schedule, costs, {}, 1, seed).makespan[0];
    CHECK(simulated_scenarios(*schedule, costs, thrice, 1, seed).makespan[0] == 3 * once);
  }
  // Rank 1: F 0, R 0, then F 1 with B 0 for 2.5e6 whatever its parts take, R 1, B 1; rank 0 runs F 0 before and B 1 behind.
  ScheduleBuilder builder(Placement::linear(2), 2);
  builder.begin_rank(Rank(0));
  for (int k = 0; k < 2; ++k) builder.add(forward(Stage(0), Microbatch(k)));
  for (int k = 0; k < 2; ++k) builder.add(backward(Stage(0), Microbatch(k)));
  builder.begin_rank(Rank(1)).add(forward(Stage(1), Microbatch(0)));
  builder.add(Op(OpKind::Recompute, Stage(1), Microbatch(0)));
  builder.add_pair(forward(Stage(1), Microbatch(1)), backward(Stage(1), Microbatch(0)));
  builder.add(Op(OpKind::Recompute, Stage(1), Microbatch(1)));
  builder.add(backward(Stage(1), Microbatch(1)));
  const Schedule schedule = std::move(builder).build();
  Costs costs = uniform_costs(schedule.placement(), {.forward = 1'000'000, .backward = 2'000'000});
  costs.overlap = {.rule = OverlapRule::Explicit, .pairs = {1, 1, 1, 2'500'000}};
  CHECK(simulated_scenarios(schedule, costs, {}, 1, 0).makespan[0] ==
        1'000'000 + 2 * 1'000'000 + 2'500'000 + 3'000'000 + 2'000'000);
  CHECK(simulated_scenarios(schedule, costs, thrice, 1, 0).makespan[0] == 3 * 10'500'000);
}

TEST_CASE("simulated scenarios refuse what does not fit, and pauses without end") {
  const auto schedule = recomputed(2);
  const Costs costs = costs_of(*schedule);
  // 2 (F + R + B) and 2 (F + B) of 1e6 and 2e6 ticks: 1.4e7, twice as much with pauses of 1 in 2.
  const Noise pauses{.model = NoiseModel::Hiccup, .period = 2, .time = 1};
  CHECK_NOTHROW(simulated_scenarios(*schedule, costs, pauses, 1, 0));
  CHECK_THROWS_AS(simulated_scenarios(*schedule, costs, pauses, 1'000, 0), InputError);
  Costs huge = costs;
  huge.duration[index_of(OpKind::Backward)][1] = kMaxTicks / 40;
  CHECK_NOTHROW(simulated_scenarios(*schedule, huge, {}, 1, 0));
  CHECK_THROWS_AS(simulated_scenarios(*schedule, huge, lognormal(3), 1, 0), InputError);
}

}  // namespace pipeloom::simulated_scenarios_test
