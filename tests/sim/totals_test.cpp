// What Simulator::evaluate returns, and that one Simulator may serve many schedules.

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "sim/engine/simulator.hpp"
#include "sim/engine/wait_for.hpp"
#include "sim/memory.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"
#include "support/scenes.hpp"

namespace pipeloom::totals_test {
namespace {

using test::scene;
using Times = std::vector<Ticks>;

constexpr const char* kWithGroup = "0F0 (0F1;0B0)OVERLAP_F_B 0B1";

Totals totals_of(Simulator::Outcome outcome) {
  REQUIRE(std::holds_alternative<Totals>(outcome));
  return std::get<Totals>(std::move(outcome));
}

}  // namespace

TEST_CASE("totals say the same as the timeline") {
  Simulator simulator;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const auto [schedule, costs] = test::random_problem(600'000 + seed);
    INFO("seed " << seed);
    test::Random random(seed);
    const MemoryModel memory = test::random_memory(random, schedule->placement());
    const Totals totals = totals_of(simulator.evaluate(*schedule, costs, memory));
    const Timeline timeline = simulate(schedule, costs);
    REQUIRE(totals.makespan == span_of(timeline).length());
    const auto peaks = measure_memory(timeline, memory);
    for (Rank rank{0}; rank < Rank(schedule->ranks()); ++rank) {
      if (schedule->queue(rank).empty()) continue;
      const Span window = span_of(timeline, rank);
      REQUIRE(totals.first_start[rank.at()] == window.start);
      REQUIRE(totals.last_end[rank.at()] == window.end);
      REQUIRE(totals.peak_live[rank.at()] == peaks[rank.at()].peak_live);
      REQUIRE(totals.peak_activation_bytes[rank.at()] == peaks[rank.at()].peak_activation_bytes);
    }
  }
}

TEST_CASE("totals are the same with and without a timeline, and for equal activations") {
  Simulator simulator;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto [schedule, costs] = test::random_problem(700'000 + seed);
    INFO("seed " << seed);
    MemoryModel memory = default_memory(schedule->placement());
    std::fill(memory.activation.begin(), memory.activation.end(), 3);
    Times start(schedule->num_ops());
    Times end(schedule->num_ops());
    const Totals bare = totals_of(simulator.evaluate(*schedule, costs, memory));
    const Totals full = totals_of(simulator.evaluate(*schedule, costs, memory, start, end));
    REQUIRE(bare.makespan == full.makespan);
    REQUIRE(bare.busy == full.busy);
    REQUIRE(bare.first_start == full.first_start);
    REQUIRE(bare.last_end == full.last_end);
    REQUIRE(bare.peak_live == full.peak_live);
    REQUIRE(bare.peak_activation_bytes == full.peak_activation_bytes);
    for (std::size_t r = 0; r < full.peak_live.size(); ++r)
      REQUIRE(full.peak_activation_bytes[r] == 3 * full.peak_live[r]);
  }
}

TEST_CASE("bubble figures follow from makespan and work") {
  // p = 4, m = 8, F = 1, B = 2: makespan 11 * 3 = 33, work 8 * 3 = 24 per rank, idle 9 of 33, and 9 of 24 = 3/8 = (p-1)/m.
  const auto schedule = test::one_f_one_b(4, 8);
  Simulator simulator;
  const Totals totals = totals_of(simulator.evaluate(*schedule, uniform_costs(schedule->placement(), {}),
                                                     default_memory(schedule->placement())));
  CHECK(totals.makespan == 33);
  CHECK(totals.busy == Times{24, 24, 24, 24});
  CHECK(totals.bubble_ratio() == Approx(9.0 / 33).epsilon(1e-15));
  CHECK(totals.peak_live == std::vector<std::int32_t>{4, 3, 2, 1});
}

TEST_CASE("a group counts once in a rank's work") {
  const auto schedule = scene(kWithGroup);
  Simulator simulator;
  const Overlap overlap{.rule = OverlapRule::Explicit, .duration = {22}};
  const Costs costs =
      uniform_costs(schedule->placement(), {.forward = 10, .backward = 20, .overlap = overlap});
  const Totals totals =
      totals_of(simulator.evaluate(*schedule, costs, default_memory(schedule->placement())));
  CHECK(totals.busy == Times{10 + 22 + 20});
  CHECK(totals.peak_live == std::vector<std::int32_t>{2});
}

TEST_CASE("ranks may become ready at different times") {
  const auto schedule = scene("0F0 0B0 | 1F0 1B0");
  const Costs costs = uniform_costs(schedule->placement(), {.forward = 2, .backward = 3});
  Simulator simulator;
  const auto memory = default_memory(schedule->placement());
  const Totals late = totals_of(simulator.evaluate(*schedule, costs, memory, {100, 0}));
  CHECK(late.first_start == Times{100, 102});
  CHECK(late.makespan == 10);
  // Rank 1 is late: 0F0 0-2, 1F0 50-52, 1B0 52-55, 0B0 55-58.
  const Totals other = totals_of(simulator.evaluate(*schedule, costs, memory, {0, 50}));
  CHECK(other.last_end == Times{58, 55});
  CHECK(other.makespan == 58);
}

TEST_CASE("one simulator serves schedules of any size in any order") {
  // Same number of cells with different rows (S = 1 with 16 cells per row, S = 3 with 8), hangs, groups and plain ones in turn.
  Simulator simulator;
  std::vector<std::shared_ptr<const Schedule>> schedules = {
      test::one_f_one_b(1, 16), test::one_f_one_b(3, 8), scene("0F0 0B0 0F1 0B1 | 1F0 1F1 1B0 1B1"),
      test::one_f_one_b(1, 16), scene(kWithGroup),       test::one_f_one_b(4, 64),
      test::one_f_one_b(2, 3)};
  for (int round = 0; round < 3; ++round)
    for (const auto& schedule : schedules) {
      const Costs costs = uniform_costs(schedule->placement(), {.forward = 3, .backward = 7, .delay = 2});
      const auto memory = default_memory(schedule->placement());
      Simulator fresh;
      const auto expected = fresh.evaluate(*schedule, costs, memory);
      const auto found = simulator.evaluate(*schedule, costs, memory);
      REQUIRE(found.index() == expected.index());
      if (const auto* hang = std::get_if<ScheduleHang>(&expected)) {
        CHECK(describe(std::get<ScheduleHang>(found), *schedule) == describe(*hang, *schedule));
        continue;
      }
      CHECK(std::get<Totals>(found).makespan == std::get<Totals>(expected).makespan);
      CHECK(std::get<Totals>(found).last_end == std::get<Totals>(expected).last_end);
    }
}

TEST_CASE("a forward-only schedule runs, and its activations do not pile up") {
  const auto schedule = scene("0F0 0F1 0F2 | 1F0 1F1 1F2");
  Simulator simulator;
  const Totals totals =
      totals_of(simulator.evaluate(*schedule, uniform_costs(schedule->placement(), {.forward = 5}),
                                   default_memory(schedule->placement())));
  CHECK(totals.makespan == 20);
  CHECK(totals.peak_live == std::vector<std::int32_t>{1, 1});
}

}  // namespace pipeloom::totals_test
