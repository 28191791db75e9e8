// The rules of docs/model.md one by one, on schedules small enough to be worked out by hand.

#include "sim/simulator.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "sim/error.hpp"
#include "sim/text.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"

namespace pipeloom {
namespace {

using Catch::Matchers::Contains;
using Times = std::vector<Ticks>;

std::shared_ptr<const Schedule> shared(const std::string& text) {
  return std::make_shared<const Schedule>(parse_schedule(text));
}

/// "0F0 0-1, 1F0 1-3, ...": op and time of everything, rank by rank.
std::string times_of(const Timeline& timeline) {
  std::string text;
  for (std::size_t i = 0; i < timeline.schedule->num_ops(); ++i)
    text += (i == 0 ? "" : ", ") + to_text(timeline.schedule->ops()[i]) + " " +
            std::to_string(timeline.start_of(i)) + "-" + std::to_string(timeline.end_of(i));
  return text;
}

/// Times under uniform costs, in whole ticks.
std::string times_of(const std::string& text, const UniformCosts& costs) {
  const auto schedule = shared(text);
  return times_of(simulate(schedule, uniform_costs(schedule->placement(), costs)));
}

/// 1F1B: warm-up of p - 1 - r forwards, then forward and backward in turn, then the rest of the backwards.
std::shared_ptr<const Schedule> one_f_one_b(int ranks, int microbatches) {
  ScheduleBuilder out(Placement::linear(ranks), microbatches);
  for (int r = 0; r < ranks; ++r) {
    out.begin_rank(Rank(r));
    const int warmup = std::min(ranks - 1 - r, microbatches);
    for (int k = 0; k < warmup; ++k) out.add(forward(Stage(r), Microbatch(k)));
    for (int k = warmup; k < microbatches; ++k) {
      out.add(forward(Stage(r), Microbatch(k)));
      out.add(backward(Stage(r), Microbatch(k - warmup)));
    }
    for (int k = microbatches - warmup; k < microbatches; ++k) out.add(backward(Stage(r), Microbatch(k)));
  }
  return std::make_shared<const Schedule>(std::move(out).build());
}

Totals totals_of(Simulator::Outcome outcome) {
  REQUIRE(std::holds_alternative<Totals>(outcome));
  return std::get<Totals>(std::move(outcome));
}

/// A forward with F = 10, a backward with B = 20 and one group of both, 0F1 beside 0B0.
constexpr const char* kWithGroup = "0F0 (0F1;0B0)OVERLAP_F_B 0B1";

Ticks makespan_with(const Overlap& overlap) {
  const auto schedule = shared(kWithGroup);
  return span_of(simulate(schedule, uniform_costs(schedule->placement(),
                                                  {.forward = 10, .backward = 20, .overlap = overlap})))
      .length();
}

}  // namespace

TEST_CASE("a rank runs its queue in order, without gaps where nothing is missing") {
  CHECK(times_of("0F0 0F1 0B1 0B0", {.forward = 2, .backward = 3}) == "0F0 0-2, 0F1 2-4, 0B1 4-7, 0B0 7-10");
}

TEST_CASE("a queue is never reordered, even if its next op could wait") {
  // Rank 1 insists on microbatch 1 first, which rank 0 runs last.
  CHECK(times_of("0F0 0F1 | 1F1 1F0", {.forward = 5}) == "0F0 0-5, 0F1 5-10, 1F1 10-15, 1F0 15-20");
}

TEST_CASE("forwards follow the stages, backwards come back") {
  CHECK(times_of("0F0 0B0 | 1F0 1B0", {.forward = 2, .backward = 3}) ==
        "0F0 0-2, 0B0 7-10, 1F0 2-4, 1B0 4-7");
}

TEST_CASE("a transfer delays both directions between ranks") {
  // 2, + 10, 1F0 12-14, 1B0 14-17, + 10, 0B0 27-30.
  CHECK(times_of("0F0 0B0 | 1F0 1B0", {.forward = 2, .backward = 3, .delay = 10}) ==
        "0F0 0-2, 0B0 27-30, 1F0 12-14, 1B0 14-17");
}

TEST_CASE("stages of one rank hand over without a transfer") {
  // A wave: 0 on rank 0, 1 and 2 on rank 1, 3 on rank 0. Only the hops 0-1 and 2-3 cost 10.
  CHECK(times_of("0F0 3F0 3B0 0B0 | 1F0 2F0 2B0 1B0", {.forward = 1, .backward = 1, .delay = 10}) ==
        "0F0 0-1, 3F0 23-24, 3B0 24-25, 0B0 47-48, 1F0 11-12, 2F0 12-13, 2B0 35-36, 1B0 36-37");
}

TEST_CASE("a transfer is hidden while the receiver is busy") {
  // 1F1 could arrive at 4 + 1 = 5, but rank 1 runs 1F0 from 3 to 5 anyway.
  CHECK(times_of("0F0 0F1 | 1F0 1F1", {.forward = 2, .delay = 1}) == "0F0 0-2, 0F1 2-4, 1F0 3-5, 1F1 5-7");
}

TEST_CASE("the input gradient goes on at once, the weight gradient waits for it alone") {
  // 1I0 2-5 lets 0I0 start at 5; 1W0 and 0W0 come when their queues say so.
  CHECK(times_of("0F0 0I0 0W0 | 1F0 1I0 1W0", {.forward = 1, .backward_input = 3, .backward_weight = 2}) ==
        "0F0 0-1, 0I0 5-8, 0W0 8-10, 1F0 1-2, 1I0 2-5, 1W0 5-7");
}

TEST_CASE("I of one stage may follow B of the next, and the other way round") {
  CHECK(times_of("0F0 0I0 0W0 | 1F0 1B0",
                 {.forward = 1, .backward = 4, .backward_input = 2, .backward_weight = 2}) ==
        "0F0 0-1, 0I0 6-8, 0W0 8-10, 1F0 1-2, 1B0 2-6");
  CHECK(times_of("0F0 0B0 | 1F0 1I0 1W0",
                 {.forward = 1, .backward = 4, .backward_input = 2, .backward_weight = 2}) ==
        "0F0 0-1, 0B0 4-8, 1F0 1-2, 1I0 2-4, 1W0 4-6");
}

TEST_CASE("a backward may be given cheaper than its two halves") {
  CHECK(times_of("0F0 0B0 0F1 0I1 0W1",
                 {.forward = 1, .backward = 3, .backward_input = 2, .backward_weight = 2}) ==
        "0F0 0-1, 0B0 1-4, 0F1 4-5, 0I1 5-7, 0W1 7-9");
}

TEST_CASE("each replica runs at its own costs") {
  // Microbatch 0 down, 1 up; replica 1 is twice as slow.
  const auto schedule = shared("0F0 1F1 | 0F1 1F0");
  Costs costs = uniform_costs(schedule->placement(), {});
  costs.duration[index_of(OpKind::Forward)] = {1, 1, 2, 2};
  // Rank 0: 0F0 0-1, rank 1: 0F1 0-2; then each has its other stage's input.
  CHECK(times_of(simulate(schedule, costs)) == "0F0 0-1, 1F1 2-4, 0F1 0-2, 1F0 2-3");
}

TEST_CASE("ops without duration take no time but keep their order") {
  CHECK(times_of("0F0 0B0 | 1F0 1B0", {.forward = 0, .backward = 0, .delay = 3}) ==
        "0F0 0-0, 0B0 6-6, 1F0 3-3, 1B0 3-3");
}

TEST_CASE("a microbatch's scale stretches its ops, rounded to the tick") {
  const auto schedule = shared("0F0 0F1 0B0 0B1");
  Costs costs = uniform_costs(schedule->placement(), {.forward = 3, .backward = 10});
  costs.microbatch_scale = {kUnitScale, kUnitScale / 2};
  // 3 / 2 = 1.5 rounds to 2; 10 / 2 = 5.
  CHECK(times_of(simulate(schedule, costs)) == "0F0 0-3, 0F1 3-5, 0B0 5-15, 0B1 15-20");
}

TEST_CASE("a group starts when all of its ops can, and ends as one") {
  // Rank 0's group needs 1B0, there at 2 + 2 + 3 = 7; it runs 2 + 3 = 5 long; 1F1 follows at its end only.
  CHECK(times_of("0F0 (0F1;0B0)OVERLAP_F_B 0B1 | 1F0 1B0 1F1 1B1", {.forward = 2, .backward = 3}) ==
        "0F0 0-2, 0F1 7-12, 0B0 7-12, 0B1 17-20, 1F0 2-4, 1B0 4-7, 1F1 12-14, 1B1 14-17");
}

TEST_CASE("overlap rules: how long F = 10 beside B = 20 takes") {
  // Alone 0F0 takes 10 and 0B1 takes 20; the rest of the makespan is the group.
  const auto group = [](const Overlap& overlap) { return makespan_with(overlap) - 30; };
  CHECK(group({.rule = OverlapRule::Sum, .duration = {}}) == 30);
  CHECK(group({.rule = OverlapRule::Sequential, .duration = {}}) == 30);
  CHECK(group({.rule = OverlapRule::Explicit, .duration = {23}}) == 23);
  CHECK(group({.rule = OverlapRule::Explicit, .duration = {7}}) == 7);  // below max(F, B) if the user says so
  CHECK(group({.rule = OverlapRule::Factor, .duration = {}, .factor = 8 * kUnitScale / 10}) == 24);
  CHECK(group({.rule = OverlapRule::Factor, .duration = {}, .factor = kUnitScale / 2}) == 20);  // not below B
  CHECK(group({.rule = OverlapRule::Factor, .duration = {}, .factor = 2 * kUnitScale}) == 60);
  CHECK(group({.rule = OverlapRule::Saving, .duration = {}, .saving = 4}) == 26);
  CHECK(group({.rule = OverlapRule::Saving, .duration = {}, .saving = 25}) == 20);  // not below B
}

TEST_CASE("an explicit group duration goes by the stage of the forward") {
  // A wave on two ranks; on rank 0 stage 3 overlaps with stage 0 in both roles.
  const auto schedule =
      shared("0F0 3F0 (0F1;3B0)OVERLAP_F_B (3F1;0B0)OVERLAP_F_B 3B1 0B1 | 1F0 2F0 1F1 2F1 2B0 1B0 2B1 1B1");
  Costs costs = uniform_costs(schedule->placement(), {.forward = 1, .backward = 1});
  costs.overlap = {.rule = OverlapRule::Explicit, .duration = {100, 0, 0, 1000}};
  CHECK(costs.entry_duration(*schedule, 2, 4) == 100);
  CHECK(costs.entry_duration(*schedule, 4, 6) == 1000);
}

TEST_CASE("an explicit duration needs exactly one forward, else the sum counts") {
  const auto schedule = shared("(0F0;0F1)OVERLAP (0B0;0B1)OVERLAP");
  Costs costs = uniform_costs(schedule->placement(), {.forward = 10, .backward = 20});
  costs.overlap = {.rule = OverlapRule::Explicit, .duration = {7}};
  CHECK(times_of(simulate(schedule, costs)) == "0F0 0-20, 0F1 0-20, 0B0 20-60, 0B1 20-60");
}

TEST_CASE("an explicit group duration is not scaled by microbatch") {
  const auto schedule = shared(kWithGroup);
  Costs costs = uniform_costs(schedule->placement(), {.forward = 10, .backward = 20});
  costs.overlap = {.rule = OverlapRule::Explicit, .duration = {25}};
  costs.microbatch_scale = {2 * kUnitScale, 3 * kUnitScale};
  // 0F0 20, group 25, 0B1 60.
  CHECK(times_of(simulate(schedule, costs)) == "0F0 0-20, 0F1 20-45, 0B0 20-45, 0B1 45-105");
}

TEST_CASE("a sequential group shows each part's result when that part ends") {
  const Overlap sequential{.rule = OverlapRule::Sequential, .duration = {}};
  // As above, but 0F1 ends at 7 + 2 = 9 and 1F1 follows at once: 9-11, 1B1 11-14, and 0B1 14-17.
  CHECK(times_of("0F0 (0F1;0B0)OVERLAP_F_B 0B1 | 1F0 1B0 1F1 1B1",
                 {.forward = 2, .backward = 3, .overlap = sequential}) ==
        "0F0 0-2, 0F1 7-9, 0B0 9-12, 0B1 14-17, 1F0 2-4, 1B0 4-7, 1F1 9-11, 1B1 11-14");
}

TEST_CASE("groups of more than two follow the same rules") {
  const auto schedule = shared("0F0 0F1 0I0 (0F2;0I1;0W0)OVERLAP 0W1 0I2 0W2");
  Costs costs =
      uniform_costs(schedule->placement(), {.forward = 4, .backward_input = 5, .backward_weight = 6});
  CHECK(costs.entry_duration(*schedule, 3, 6) == 15);
  costs.overlap = {.rule = OverlapRule::Saving, .duration = {}, .saving = 100};
  CHECK(costs.entry_duration(*schedule, 3, 6) == 6);
}

TEST_CASE("1F1B takes (m + p - 1)(F + B)") {
  for (const auto& [p, m] :
       std::vector<std::pair<int, int>>{{1, 1}, {1, 5}, {2, 2}, {4, 8}, {8, 24}, {4, 2}}) {
    const auto schedule = one_f_one_b(p, m);
    const Timeline timeline =
        simulate(schedule, uniform_costs(schedule->placement(), {.forward = 10, .backward = 23}));
    CHECK(span_of(timeline).length() == (m + p - 1) * 33);
  }
}

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
  const auto schedule = one_f_one_b(4, 8);
  Simulator simulator;
  const Totals totals = totals_of(simulator.evaluate(*schedule, uniform_costs(schedule->placement(), {}),
                                                     default_memory(schedule->placement())));
  CHECK(totals.makespan == 33);
  CHECK(totals.busy == Times{24, 24, 24, 24});
  CHECK(totals.bubble_ratio() == Approx(9.0 / 33).epsilon(1e-15));
  CHECK(totals.bubble_overhead() == Approx(3.0 / 8).epsilon(1e-15));
  CHECK(totals.peak_live == std::vector<std::int32_t>{4, 3, 2, 1});
}

TEST_CASE("a group counts once in a rank's work") {
  const auto schedule = shared(kWithGroup);
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
  const auto schedule = shared("0F0 0B0 | 1F0 1B0");
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
      one_f_one_b(1, 16), one_f_one_b(3, 8),  shared("0F0 0B0 0F1 0B1 | 1F0 1F1 1B0 1B1"),
      one_f_one_b(1, 16), shared(kWithGroup), one_f_one_b(4, 64),
      one_f_one_b(2, 3)};
  for (int round = 0; round < 3; ++round)
    for (const auto& schedule : schedules) {
      const Costs costs = uniform_costs(schedule->placement(), {.forward = 3, .backward = 7, .delay = 2});
      const auto memory = default_memory(schedule->placement());
      Simulator fresh;
      const auto expected = fresh.evaluate(*schedule, costs, memory);
      const auto found = simulator.evaluate(*schedule, costs, memory);
      REQUIRE(found.index() == expected.index());
      if (const auto* deadlock = std::get_if<Deadlock>(&expected)) {
        CHECK(describe(std::get<Deadlock>(found), *schedule) == describe(*deadlock, *schedule));
        continue;
      }
      CHECK(std::get<Totals>(found).makespan == std::get<Totals>(expected).makespan);
      CHECK(std::get<Totals>(found).last_end == std::get<Totals>(expected).last_end);
    }
}

TEST_CASE("simulate refuses a schedule that hangs and names the cycle") {
  const auto schedule = shared("0F0 0B0 0F1 0B1 | 1F0 1F1 1B0 1B1");
  CHECK_THROWS_WITH(simulate(schedule, default_costs(schedule->placement())),
                    Contains("hangs") && Contains("rank 0 waits at 0B0 for 1B0 of rank 1"));
  CHECK_THROWS_AS(simulate(schedule, default_costs(schedule->placement())), ScheduleError);
}

TEST_CASE("times beyond 2^62 ticks are refused, not wrapped") {
  const auto schedule = shared("0F0 0B0 | 1F0 1B0");
  const UniformCosts half{.forward = kMaxTicks / 2, .backward = kMaxTicks / 2};
  CHECK_THROWS_AS(simulate(schedule, uniform_costs(schedule->placement(), half)), InputError);
  const UniformCosts delayed{.forward = 1, .backward = 1, .delay = kMaxTicks - 1};
  CHECK_THROWS_WITH(simulate(schedule, uniform_costs(schedule->placement(), delayed)), Contains("2^62"));
  // The largest that fits exactly: four ops of just under 2^60.
  const UniformCosts fits{.forward = kMaxTicks / 4 - 1, .backward = kMaxTicks / 4 - 1};
  CHECK(span_of(simulate(schedule, uniform_costs(schedule->placement(), fits))).length() == kMaxTicks - 4);
}

TEST_CASE("a single expensive op does not count for all") {
  // A bound of ops * longest would refuse this; the sum of all work fits.
  const auto schedule = shared("0F0 0F1 0F2 0F3");
  Costs costs = uniform_costs(schedule->placement(), {});
  costs.duration[index_of(OpKind::Forward)] = {kMaxTicks / 8};
  costs.microbatch_scale = {kUnitScale, 0, 0, 0};
  CHECK(span_of(simulate(schedule, costs)).length() == kMaxTicks / 8);
}

TEST_CASE("a forward-only schedule runs, and its activations do not pile up") {
  const auto schedule = shared("0F0 0F1 0F2 | 1F0 1F1 1F2");
  Simulator simulator;
  const Totals totals =
      totals_of(simulator.evaluate(*schedule, uniform_costs(schedule->placement(), {.forward = 5}),
                                   default_memory(schedule->placement())));
  CHECK(totals.makespan == 20);
  CHECK(totals.peak_live == std::vector<std::int32_t>{1, 1});
}

}  // namespace pipeloom
