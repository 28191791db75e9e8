#include <algorithm>
#include <memory>

#include <pipeloom/costs.hpp>
#include "sim/engine/simulator.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"
#include "support/scenes.hpp"

namespace pipeloom::steps_test {
namespace {

using test::scene;

constexpr const char* kTwoRanks = "0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1";

/// Growth per step of the latest end over a long run, as a fraction: {ticks, steps}. The run is long enough to forget its start, and
/// any period up to 60 divides the window.
struct Growth {
  Ticks ticks;
  Ticks steps;
};
Growth long_run(const std::shared_ptr<const Schedule>& schedule, const Costs& costs, Ticks optimizer) {
  constexpr int kSteps = 400;
  constexpr int kWindow = 240;
  const Timeline timeline =
      simulate(schedule, costs, {.rule = StepRule::PostValidation, .optimizer = optimizer, .count = kSteps});
  return {span_of(timeline, kSteps - 1).end - span_of(timeline, kSteps - 1 - kWindow).end, kWindow};
}

}  // namespace

TEST_CASE("under barrier every rank starts the next step after the slowest and the optimizer") {
  const auto schedule = scene(kTwoRanks);
  const Costs costs = uniform_costs(schedule->placement(), {.forward = 1, .backward = 2});
  const Timeline timeline =
      simulate(schedule, costs, {.rule = StepRule::Barrier, .optimizer = 5, .count = 3});
  // One step: (m + p - 1)(F + B) = 9; the next starts at 9 + 5.
  CHECK(timeline.steps == 3);
  for (int step = 0; step < 3; ++step) {
    CHECK(span_of(timeline, step) == Span{step * 14, step * 14 + 9});
    for (std::size_t i = 0; i < schedule->num_ops(); ++i)
      CHECK(timeline.start_of(i, step) == timeline.start_of(i) + step * 14);
  }
  CHECK(steady_period(*schedule, costs, {.rule = StepRule::Barrier, .optimizer = 5}) == 14);
}

TEST_CASE("under post-validation a rank goes on after its own last op") {
  const auto schedule = scene(kTwoRanks);
  const Costs costs = uniform_costs(schedule->placement(), {.forward = 1, .backward = 2});
  const Steps steps{.rule = StepRule::PostValidation, .optimizer = 5, .count = 2};
  const Timeline timeline = simulate(schedule, costs, steps);
  // Step 0: rank 0 works from 0 to 9, rank 1 from 1 to 7.
  CHECK(span_of(timeline, Rank(0), 0) == Span{0, 9});
  CHECK(span_of(timeline, Rank(1), 0) == Span{1, 7});
  // Rank 0 starts again at 14, rank 1 could at 12 but waits for its first input at 15.
  CHECK(span_of(timeline, Rank(0), 1) == Span{14, 23});
  CHECK(span_of(timeline, Rank(1), 1) == Span{15, 21});
}

TEST_CASE("with equal stages the steady period is the longest window and the optimizer") {
  // Rank 0's window is 9, rank 1's 6 (above): 9 + 5.
  const auto schedule = scene(kTwoRanks);
  const Costs costs = uniform_costs(schedule->placement(), {.forward = 1, .backward = 2});
  CHECK(steady_period(*schedule, costs, {.rule = StepRule::PostValidation, .optimizer = 5}) == 14);
  // ZB-H1 on two ranks with m = 2: windows m(F+I+W) + (p-1)(F+I-W) = 6 + 1 on rank 0.
  const auto zero_bubble = scene("0F0 0F1 0I0 0W0 0I1 0W1 | 1F0 1I0 1F1 1I1 1W0 1W1");
  const Costs unit = uniform_costs(zero_bubble->placement(), {.backward_input = 1, .backward_weight = 1});
  CHECK(steady_period(*zero_bubble, unit, {.rule = StepRule::PostValidation}) == 7);
  CHECK(steady_period(*zero_bubble, unit, {.rule = StepRule::PostValidation, .optimizer = 3}) == 10);
}

TEST_CASE("the steady period is never above the longest window plus optimizer") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto [schedule, costs] = test::random_problem(800'000 + seed);
    INFO("seed " << seed);
    const Timeline timeline = simulate(schedule, costs);
    Ticks window = 0;
    for (Rank rank{0}; rank < Rank(schedule->ranks()); ++rank)
      window = std::max(window, span_of(timeline, rank).length());
    const Ticks period = steady_period(*schedule, costs, {.rule = StepRule::PostValidation, .optimizer = 17});
    REQUIRE(period <= window + 17);
    REQUIRE(period <= steady_period(*schedule, costs, {.rule = StepRule::Barrier, .optimizer = 17}));
  }
}

TEST_CASE("the steady period is the growth of a long run, for unequal stages too") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto [schedule, costs] = test::random_problem(900'000 + seed);
    INFO("seed " << seed);
    const Growth growth = long_run(schedule, costs, 11);
    const Ticks period = steady_period(*schedule, costs, {.rule = StepRule::PostValidation, .optimizer = 11});
    REQUIRE(period == multiply_divide(growth.ticks, 1, growth.steps));
  }
}

TEST_CASE("ranks that nothing couples drift apart and the slowest sets the period") {
  // Two stages on two ranks, but microbatch 0 only needs rank 0's forward: rank 1 takes 1000 a step, rank 0 takes 2. The ready times
  // never repeat up to a constant, so the period comes from the cycle means.
  const auto schedule = scene("0F0 | 1F0");
  Costs costs = uniform_costs(schedule->placement(), {});
  costs.duration[index_of(OpKind::Forward)] = {2, 1000};
  CHECK(steady_period(*schedule, costs, {.rule = StepRule::PostValidation, .optimizer = 1}) == 1001);
  // The other way round rank 1 waits for rank 0, and the times repeat.
  costs.duration[index_of(OpKind::Forward)] = {1000, 2};
  CHECK(steady_period(*schedule, costs, {.rule = StepRule::PostValidation, .optimizer = 1}) == 1001);
}

TEST_CASE("the period of long steps is right or refused") {
  const Steps steps{.rule = StepRule::PostValidation};
  // Forwards alone: rank 1 takes 3 where rank 0 takes 1, so that it falls back by 2 a step and no two steps look alike. After the 64 that
  // are tried it ends at 192, 128 behind rank 0.
  const auto apart = scene("0F0 | 1F0");
  const auto period_of = [&](Ticks one) {
    Costs costs = uniform_costs(apart->placement(), {});
    costs.duration[index_of(OpKind::Forward)] = {one, 3 * one};
    return steady_period(*apart, costs, steps);
  };
  CHECK(period_of(1) == 3);
  CHECK(period_of(Ticks{1} << 54) == 3 * (Ticks{1} << 54));
  CHECK_THROWS_WITH(period_of(Ticks{1} << 57), Catch::Matchers::Contains("2^62"));  // 128 * 2^57 = 2^64
  const auto schedule = scene("0F0 0B0 | 1F0 1B0");
  // The optimizer counts as well.
  const Costs one = uniform_costs(schedule->placement(), {.forward = 1, .backward = 1});
  for (const StepRule rule : {StepRule::Barrier, StepRule::PostValidation}) {
    const Steps late{.rule = rule, .optimizer = kMaxTicks - 1};
    CHECK_THROWS_WITH(steady_period(*schedule, one, late), Catch::Matchers::Contains("2^62"));
    CHECK_THROWS_WITH(simulate(schedule, one, late), Catch::Matchers::Contains("2^62"));
  }
}

}  // namespace pipeloom::steps_test
