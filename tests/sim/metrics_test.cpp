#include "sim/analysis/metrics.hpp"

#include <vector>

#include <pipeloom/metrics.hpp>
#include "support/catch.hpp"
#include "support/random_problem.hpp"
#include "support/scenes.hpp"

namespace pipeloom::metrics_test {
namespace {

using test::scene;

Metrics metrics_of(const std::shared_ptr<const Schedule>& schedule, const Costs& costs,
                   const Steps& steps = {}) {
  return measure(simulate(schedule, costs), costs, default_memory(schedule->placement()), steps);
}

constexpr const char* kTwoRanks = "0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1";

}  // namespace

TEST_CASE("metrics of two ranks with a transfer, worked out by hand") {
  // F = 1, B = 2, delay 1:
  //   rank 0: 0F0 0-1, 0F1 1-2, 0B0 6-8, 0B1 9-11
  //   rank 1: 1F0 2-3, 1B0 3-5, 1F1 5-6, 1B1 6-8
  const auto schedule = scene(kTwoRanks);
  const Costs costs = uniform_costs(schedule->placement(), {.forward = 1, .backward = 2, .delay = 1});
  const Metrics metrics = metrics_of(schedule, costs, {.rule = StepRule::Barrier, .optimizer = 4});
  CHECK(metrics.makespan == 11);
  CHECK(metrics.step_time == 15);
  CHECK(metrics.steady_period == 15);
  CHECK(metrics.ideal_time == 6);
  CHECK(metrics.max_window == 11);
  CHECK(metrics.num_ops == 8);
  CHECK(metrics.num_entries == 8);
  REQUIRE(metrics.ranks.size() == 2);
  CHECK(metrics.ranks[0].busy == 6);
  CHECK(metrics.ranks[0].idle == 5);
  CHECK(metrics.ranks[0].window() == 11);
  CHECK(metrics.ranks[1].busy == 6);
  CHECK(metrics.ranks[1].first_start == 2);
  CHECK(metrics.ranks[1].last_end == 8);
  CHECK(metrics.ranks[1].window() == 6);
  CHECK(metrics.bubble_ratio == Approx(10.0 / 22).epsilon(1e-15));
  CHECK(metrics.bubble_overhead == Approx(10.0 / 12).epsilon(1e-15));
  CHECK(metrics.window_bubble_ratio == Approx(1 - 6.0 / 11).epsilon(1e-15));
  // Rank 1: nothing before 0F0 and a hop, 2; its work, 6; a hop and a backward after it, 3.
  CHECK(metrics.lower_bound.value == 11);
  CHECK(metrics.ranks[0].memory.peak_live == 2);
  CHECK(metrics.peak_rank == Rank(0));
}

TEST_CASE("bubble_overhead of 1F1B is (p - 1) / m") {
  for (const auto& [p, m] : std::vector<std::pair<int, int>>{{2, 4}, {4, 8}, {8, 8}, {8, 64}}) {
    const auto schedule = test::one_f_one_b(p, m);
    const Metrics metrics =
        metrics_of(schedule, uniform_costs(schedule->placement(), {.forward = 5, .backward = 9}));
    CHECK(metrics.bubble_overhead == Approx(static_cast<double>(p - 1) / m).epsilon(1e-14));
    CHECK(metrics.bubble_ratio == Approx(static_cast<double>(p - 1) / (m + p - 1)).epsilon(1e-14));
  }
}

TEST_CASE("under post-validation the step time is the steady period") {
  const auto schedule = scene(kTwoRanks);
  const Costs costs = uniform_costs(schedule->placement(), {.forward = 1, .backward = 2});
  const Metrics metrics = metrics_of(schedule, costs, {.rule = StepRule::PostValidation, .optimizer = 4});
  CHECK(metrics.makespan == 9);
  CHECK(metrics.step_time == 9 + 4);  // rank 0's window is the whole makespan
  CHECK(metrics.lower_bound.value == 6 + 4);
}

TEST_CASE("the rank with the highest peak is the lowest such rank") {
  const auto schedule = scene("0F0 0B0 | 1F0 1B0");
  const Costs costs = uniform_costs(schedule->placement(), {});
  MemoryModel memory = default_memory(schedule->placement());
  memory.static_bytes = {10, 10};
  const Timeline timeline = simulate(schedule, costs);
  CHECK(measure(timeline, costs, memory, {}).peak_rank == Rank(0));
  memory.static_bytes = {10, 11};
  CHECK(measure(timeline, costs, memory, {}).peak_rank == Rank(1));
}

TEST_CASE("a run without duration has no bubbles and divides by nothing") {
  const auto schedule = scene("0F0 0B0");
  const Metrics metrics =
      metrics_of(schedule, uniform_costs(schedule->placement(), {.forward = 0, .backward = 0}));
  CHECK(metrics.makespan == 0);
  CHECK(metrics.bubble_ratio == 0);
  CHECK(metrics.bubble_overhead == 0);
  CHECK(metrics.window_bubble_ratio == 0);
}

TEST_CASE("metrics hold together on random problems") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const auto [schedule, costs] = test::random_problem(1'300'000 + seed);
    INFO("seed " << seed);
    const Metrics metrics = metrics_of(schedule, costs);
    REQUIRE(metrics.bubble_ratio >= 0);
    REQUIRE(metrics.bubble_ratio < 1);
    REQUIRE(metrics.lower_bound.value <= metrics.makespan);
    REQUIRE(metrics.ideal_time <= metrics.lower_bound.value);
    REQUIRE(metrics.max_window <= metrics.makespan);
    for (const RankMetrics& rank : metrics.ranks) {
      REQUIRE(rank.idle >= 0);
      REQUIRE(rank.busy <= rank.window());
      REQUIRE(rank.idle_causes.total() == rank.idle);
    }
  }
}

}  // namespace pipeloom::metrics_test
