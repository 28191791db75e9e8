// The rules of time of docs/model.md one by one, on schedules small enough to be worked out by hand. Groups: overlap_test.cpp;
// what Simulator returns: totals_test.cpp.

#include "sim/engine/simulator.hpp"

#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include "support/catch.hpp"
#include "support/scenes.hpp"

namespace pipeloom::simulator_test {

using Catch::Matchers::Contains;
using test::scene;
using test::times_of;

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
  const auto schedule = scene("0F0 1F1 | 0F1 1F0");
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
  const auto schedule = scene("0F0 0F1 0B0 0B1");
  Costs costs = uniform_costs(schedule->placement(), {.forward = 3, .backward = 10});
  costs.microbatch_scale = {kUnitScale, kUnitScale / 2};
  // 3 / 2 = 1.5 rounds to 2; 10 / 2 = 5.
  CHECK(times_of(simulate(schedule, costs)) == "0F0 0-3, 0F1 3-5, 0B0 5-15, 0B1 15-20");
}

TEST_CASE("1F1B takes (m + p - 1)(F + B)") {
  for (const auto& [p, m] :
       std::vector<std::pair<int, int>>{{1, 1}, {1, 5}, {2, 2}, {4, 8}, {8, 24}, {4, 2}}) {
    const auto schedule = test::one_f_one_b(p, m);
    const Timeline timeline =
        simulate(schedule, uniform_costs(schedule->placement(), {.forward = 10, .backward = 23}));
    CHECK(span_of(timeline).length() == (m + p - 1) * 33);
  }
}

TEST_CASE("simulate refuses a schedule that hangs and names the cycle") {
  const auto schedule = scene("0F0 0B0 0F1 0B1 | 1F0 1F1 1B0 1B1");
  CHECK_THROWS_WITH(simulate(schedule, default_costs(schedule->placement())),
                    Contains("hangs") && Contains("rank 0 waits at 0B0 for 1B0 of rank 1"));
  CHECK_THROWS_AS(simulate(schedule, default_costs(schedule->placement())), ScheduleError);
}

TEST_CASE("a group that a factor makes longer than 2^62 ticks is refused") {
  // 2 * 2^60 fit, 1000 times that do not.
  const auto schedule = scene("0F0 (0F1;0B0)OVERLAP_F_B 0B1");
  Costs costs = uniform_costs(schedule->placement(), {.forward = Ticks{1} << 55, .backward = Ticks{1} << 55});
  costs.overlap.rule = OverlapRule::Factor;
  costs.overlap.factor = 1000 * kUnitScale;
  CHECK_THROWS_WITH(simulate(schedule, costs), Contains("2^62"));
  costs.overlap.factor = 10 * kUnitScale;  // 1 + 20 + 1 ops
  CHECK(span_of(simulate(schedule, costs)).length() == 22 * (Ticks{1} << 55));
}

TEST_CASE("times beyond 2^62 ticks are refused, not wrapped") {
  const auto schedule = scene("0F0 0B0 | 1F0 1B0");
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
  const auto schedule = scene("0F0 0F1 0F2 0F3");
  Costs costs = uniform_costs(schedule->placement(), {});
  costs.duration[index_of(OpKind::Forward)] = {kMaxTicks / 8};
  costs.microbatch_scale = {kUnitScale, 0, 0, 0};
  CHECK(span_of(simulate(schedule, costs)).length() == kMaxTicks / 8);
}

}  // namespace pipeloom::simulator_test
