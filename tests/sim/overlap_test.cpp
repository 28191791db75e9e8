// Overlapped groups: when they start, how long they take, when their results are there.

#include "sim/engine/simulator.hpp"
#include "support/catch.hpp"
#include "support/scenes.hpp"

namespace pipeloom::overlap_test {
namespace {

using test::scene;
using test::times_of;

/// F = 10 and B = 20, and one group of both, 0F1 beside 0B0.
constexpr const char* kWithGroup = "0F0 (0F1;0B0)OVERLAP_F_B 0B1";

Ticks makespan_with(const Overlap& overlap) {
  return span_of(test::times_in(scene(kWithGroup), {.forward = 10, .backward = 20, .overlap = overlap}))
      .length();
}

}  // namespace

TEST_CASE("a group starts when all of its ops can, and ends as one") {
  // Rank 0's group needs 1B0, there at 2 + 2 + 3 = 7; it runs 2 + 3 = 5 long; 1F1 follows at its end only.
  CHECK(times_of("0F0 (0F1;0B0)OVERLAP_F_B 0B1 | 1F0 1B0 1F1 1B1", {.forward = 2, .backward = 3}) ==
        "0F0 0-2, 0F1 7-12, 0B0 7-12, 0B1 17-20, 1F0 2-4, 1B0 4-7, 1F1 12-14, 1B1 14-17");
}

TEST_CASE("a pair of one microbatch on the last stage runs one after the other under every rule") {
  // F 1, B 2: 1F0 has its input at 1 and ends at 2, 1B0 follows to 4, then 1F1 to 5 and 1B1 to 7; rank 0 ends with 0B1, 7 to 9.
  const char* const text = "0F0 0F1 0B0 0B1 | (1F0;1B0)OVERLAP_F_B (1F1;1B1)OVERLAP_F_B";
  for (const Overlap& overlap :
       {Overlap{.rule = OverlapRule::Sum, .duration = {}},
        Overlap{.rule = OverlapRule::Sequential, .duration = {}},
        Overlap{.rule = OverlapRule::Factor, .duration = {}, .factor = kUnitScale / 2},
        Overlap{.rule = OverlapRule::Saving, .duration = {}, .saving = 1},
        Overlap{.rule = OverlapRule::Explicit, .duration = {2, 2}}})
    CHECK(times_of(text, {.forward = 1, .backward = 2, .overlap = overlap}) ==
          "0F0 0-1, 0F1 1-2, 0B0 4-6, 0B1 7-9, 1F0 1-2, 1B0 2-4, 1F1 4-5, 1B1 5-7");
}

TEST_CASE("a pair of one microbatch is two entries that are written as one") {
  const std::string text = "0F0 0F1 0B0 0B1 | (1F0;1B0)OVERLAP_F_B (1F1;1B1)OVERLAP_F_B";
  const Schedule schedule = parse_schedule(text);
  CHECK(queue_text(schedule, Rank(1)) == "(1F0;1B0)OVERLAP_F_B (1F1;1B1)OVERLAP_F_B");
  CHECK(schedule.num_entries() == 8);
  CHECK_FALSE(schedule.has_groups());
  CHECK_FALSE(schedule == parse_schedule("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1"));
  CHECK(queue_text(forward_only(schedule), Rank(1)) == "1F0 1F1");
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
      scene("0F0 3F0 (0F1;3B0)OVERLAP_F_B (3F1;0B0)OVERLAP_F_B 3B1 0B1 | 1F0 2F0 1F1 2F1 2B0 1B0 2B1 1B1");
  Costs costs = uniform_costs(schedule->placement(), {.forward = 1, .backward = 1});
  costs.overlap = {.rule = OverlapRule::Explicit, .duration = {100, 0, 0, 1000}};
  CHECK(costs.entry_duration(*schedule, 2, 4) == 100);
  CHECK(costs.entry_duration(*schedule, 4, 6) == 1000);
}

TEST_CASE("an explicit duration needs exactly one forward, else the sum counts") {
  const auto schedule = scene("(0F0;0F1)OVERLAP (0B0;0B1)OVERLAP");
  Costs costs = uniform_costs(schedule->placement(), {.forward = 10, .backward = 20});
  costs.overlap = {.rule = OverlapRule::Explicit, .duration = {7}};
  CHECK(times_of(simulate(schedule, costs)) == "0F0 0-20, 0F1 0-20, 0B0 20-60, 0B1 20-60");
}

TEST_CASE("an explicit group duration is not scaled by microbatch") {
  const auto schedule = scene(kWithGroup);
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
  const auto schedule = scene("0F0 0F1 0I0 (0F2;0I1;0W0)OVERLAP 0W1 0I2 0W2");
  Costs costs =
      uniform_costs(schedule->placement(), {.forward = 4, .backward_input = 5, .backward_weight = 6});
  CHECK(costs.entry_duration(*schedule, 3, 6) == 15);
  costs.overlap = {.rule = OverlapRule::Saving, .duration = {}, .saving = 100};
  CHECK(costs.entry_duration(*schedule, 3, 6) == 6);
}

}  // namespace pipeloom::overlap_test
