#include "sim/engine/scenarios.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/engine/simulator.hpp"
#include "sim/messages/message_plans.hpp"
#include "sim/messages/program_scenarios.hpp"
#include "support/catch.hpp"
#include "support/noise.hpp"
#include "support/random_problem.hpp"
#include "support/scenes.hpp"

namespace pipeloom::scenarios_test {
using test::lognormal;
using test::mean_of;

namespace {

/// F 1000, B 2000, hops 100: ticks enough that rounding does not show.
Costs costs_of(const Schedule& schedule) {
  return uniform_costs(schedule.placement(), {.forward = 1'000'000, .backward = 2'000'000, .delay = 100'000});
}

}  // namespace

TEST_CASE("a scenario without noise is the simulation") {
  const Noise none;
  int run = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    auto [schedule, costs] = test::random_problem(5'000'000 + seed);
    test::Random random(seed);
    test::add_besides(random, *schedule, costs);
    if (!Scenarios::supports(*schedule, costs)) continue;
    ++run;
    const ScenarioTimes times = Scenarios(*schedule, costs, none).run(3, seed);
    const auto outcome = Simulator().evaluate(*schedule, costs, default_memory(schedule->placement()));
    const Totals& totals = std::get<Totals>(outcome);
    REQUIRE(times.makespan.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      // Scenarios count from the moment when ranks are ready, not from the first start.
      REQUIRE(times.makespan[i] == *std::max_element(totals.last_end.begin(), totals.last_end.end()));
      const double whole = static_cast<double>(times.makespan[i]) * schedule->ranks();
      const Ticks busy = std::accumulate(totals.busy.begin(), totals.busy.end(), Ticks{0});
      REQUIRE(times.bubble[i] == Approx(whole > 0 ? 1 - static_cast<double>(busy) / whole : 0));
    }
  }
  CHECK(run > 200);
}

TEST_CASE("scenario i of a seed is the same whatever the count, and seeds differ") {
  const auto schedule = test::one_f_one_b(4, 8);
  const Costs costs = costs_of(*schedule);
  const Noise noise = lognormal(0.1);
  const Scenarios scenarios(*schedule, costs, noise);
  const std::vector<Ticks> many = scenarios.run(21, 5).makespan;
  const std::vector<Ticks> few = scenarios.run(10, 5).makespan;
  CHECK(std::vector<Ticks>(many.begin(), many.begin() + 10) == few);
  CHECK(scenarios.run(10, 6).makespan != few);
  CHECK(many[0] != many[1]);
}

TEST_CASE("durations vary as they are said to") {
  // 4,000 forwards one after another on one rank: their mean shows in the sum, to a standard error of sigma / sqrt(4000 * 64).
  ScheduleBuilder builder(Placement::linear(1), 4'000);
  builder.begin_rank(Rank(0));
  for (int k = 0; k < 4'000; ++k) builder.add(forward(Stage(0), Microbatch(k)));
  const auto schedule = std::make_shared<const Schedule>(std::move(builder).build());
  const Costs costs = costs_of(*schedule);
  const auto mean_factor = [&](const Noise& noise) {
    return mean_of(Scenarios(*schedule, costs, noise).run(64, 1).makespan) / (4'000.0 * 1'000'000);
  };
  CHECK(mean_factor(lognormal(0.3)) == Approx(std::exp(0.3 * 0.3 / 2)).epsilon(0.003));
  CHECK(mean_factor({.model = NoiseModel::Normal, .sigma = kUnitScale / 10}) == Approx(1.0).epsilon(0.002));
  CHECK(mean_factor({.model = NoiseModel::Empirical, .factors = {kUnitScale, 2 * kUnitScale}}) ==
        Approx(1.5).epsilon(0.005));
  // Every 100 forwards' time one of 50 forwards more: of 150 forwards' time 100 are work.
  const Noise hiccup{.model = NoiseModel::Hiccup, .period = 150'000'000, .time = 50'000'000};
  CHECK(mean_factor(hiccup) == Approx(1.5).epsilon(0.02));
  Noise elsewhere = hiccup;
  elsewhere.ranks = {Rank(1)};
  CHECK(mean_factor(elsewhere) == Approx(1.0));
}

TEST_CASE("what the step hangs on is what finite differences say") {
  const auto schedule = test::one_f_one_b(4, 12);
  const Costs costs = costs_of(*schedule);
  const Noise noise = lognormal(0.05);
  constexpr int kCount = 2'000;
  const ScenarioTimes times = Scenarios(*schedule, costs, noise).run(kCount, 3);
  const double mean = mean_of(times.makespan);
  // The same draws, so that the difference of means has no noise of its own.
  const auto relative_change = [&](const Costs& changed) {
    return mean_of(Scenarios(*schedule, changed, noise).run(kCount, 3).makespan) / mean - 1;
  };
  for (const OpKind kind : {OpKind::Forward, OpKind::Backward})
    for (std::size_t slot = 0; slot < 4; ++slot) {
      Costs slower = costs;
      slower.duration[index_of(kind)][slot] += slower.duration[index_of(kind)][slot] / 1000;
      const double share = times.on_path[index_of(kind)][slot] / (mean * kCount);
      CHECK(relative_change(slower) / 0.001 == Approx(share).epsilon(0.03).margin(0.001));
    }
  Costs later = costs;
  later.forward_delay[2] += 1'000;  // 1 % of the hop from rank 1 to 2
  const double share = times.link_on_path[1 * 4 + 2] / (mean * kCount);
  CHECK(relative_change(later) / 0.01 == Approx(share).epsilon(0.03).margin(0.0001));
}

TEST_CASE("under messages that cost their latency alone, scenarios are those of a pass over the order") {
  const auto schedule = test::one_f_one_b(4, 12);
  const Costs costs = costs_of(*schedule);
  const Program program = async_plan(schedule, {ReceivePlacement::Rule::Ahead, 100});
  const Noise pauses{.model = NoiseModel::Hiccup, .period = 9'000'000, .time = 700'000, .ranks = {Rank(1)}};
  for (const Noise& noise : {lognormal(0.1), pauses}) {
    const ScenarioTimes pass = Scenarios(*schedule, costs, noise).run(20, 7);
    const ScenarioTimes run = program_scenarios(program, costs, {}, noise, 20, 7);
    CHECK(run.makespan == pass.makespan);
    CHECK(run.bubble == pass.bubble);
  }
}

TEST_CASE("what the step hangs on under blocking messages is what finite differences say") {
  const auto schedule = test::one_f_one_b(4, 8);
  Costs costs = costs_of(*schedule);
  // Gradients are faster: two messages of a group that ended together would be on the path by turns.
  for (Ticks& delay : costs.backward_delay) delay -= delay / 3;
  const Program program = step_blocking(schedule);
  const Noise noise = lognormal(0.05);
  constexpr int kCount = 500;
  const auto run = [&](const Costs& of) { return program_scenarios(program, of, {}, noise, kCount, 3); };
  const ScenarioTimes times = run(costs);
  const double mean = mean_of(times.makespan);
  const auto relative_change = [&](const Costs& changed) {
    return mean_of(run(changed).makespan) / mean - 1;
  };
  for (const OpKind kind : {OpKind::Forward, OpKind::Backward})
    for (std::size_t slot = 0; slot < 4; ++slot) {
      Costs slower = costs;
      slower.duration[index_of(kind)][slot] += slower.duration[index_of(kind)][slot] / 1000;
      const double share = times.on_path[index_of(kind)][slot] / (mean * kCount);
      CHECK(relative_change(slower) / 0.001 == Approx(share).epsilon(0.05).margin(0.002));
    }
  Costs later = costs;
  later.forward_delay[2] += 1'000;  // 1 % of the hop from rank 1 to 2
  const double share = times.link_on_path[1 * 4 + 2] / (mean * kCount);
  CHECK(relative_change(later) / 0.01 == Approx(share).epsilon(0.05).margin(0.0002));
}

TEST_CASE("noise beyond what times hold, or pauses without end, are refused") {
  const auto schedule = test::one_f_one_b(2, 4);
  const Costs costs = costs_of(*schedule);
  const Costs long_costs =
      uniform_costs(schedule->placement(), {.forward = 10'000'000'000, .backward = 20'000'000'000});
  // 2 ranks * 4 * 3e10 = 2.4e11 ticks of work: 2.4e17 with a factor of 1e6, 2.4e20 with 1e9, and times hold 2^62 = 4.6e18.
  Noise factors{.model = NoiseModel::Empirical};
  factors.factors = {1'000'000 * kUnitScale};
  CHECK_NOTHROW(Scenarios(*schedule, long_costs, factors).run(1, 0));
  factors.factors = {1'000'000'000 * kUnitScale};
  CHECK_THROWS_AS(Scenarios(*schedule, long_costs, factors).run(1, 0), InputError);
  // Pauses of 1 in 2 ticks double the 2.4e7 ticks of work: 2.4e7 pauses a scenario.
  Noise pauses{.model = NoiseModel::Hiccup};
  pauses.period = 2;
  pauses.time = 1;
  CHECK_NOTHROW(Scenarios(*schedule, costs, pauses).run(1, 0));
  CHECK_THROWS_AS(Scenarios(*schedule, costs, pauses).run(1'000, 0), InputError);
}

TEST_CASE("pauses in idle time pass") {
  // Rank 1 waits for rank 0 before its first forward; whatever pauses fall there, a step without work on rank 1's side is not longer.
  const auto schedule = test::one_f_one_b(2, 1);
  Costs costs = costs_of(*schedule);
  costs.duration[index_of(OpKind::Forward)][1] = 0;
  costs.duration[index_of(OpKind::Backward)][1] = 0;
  Noise pauses{.model = NoiseModel::Hiccup};
  pauses.period = 1'000;
  pauses.time = 999;
  pauses.ranks = {Rank(1)};
  // F 1e6, hop 1e5, hop 1e5, B 2e6.
  for (const Ticks makespan : Scenarios(*schedule, costs, pauses).run(16, 4).makespan)
    CHECK(makespan == 3'200'000);
}

}  // namespace pipeloom::scenarios_test
