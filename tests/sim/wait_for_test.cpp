#include "sim/engine/wait_for.hpp"

#include <string>

#include <pipeloom/schedule.hpp>
#include "sim/engine/simulator.hpp"
#include "support/catch.hpp"

namespace pipeloom::wait_for_test {

TEST_CASE("a legal schedule does not hang") {
  CHECK_FALSE(find_hang(parse_schedule("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1")));
}

TEST_CASE("two ranks that wait for each other are a cycle of two") {
  const Schedule schedule = parse_schedule("0F0 0B0 0F1 0B1 | 1F0 1F1 1B0 1B1");
  const auto hang = find_hang(schedule);
  REQUIRE(hang);
  CHECK(hang->done == 2);
  REQUIRE(hang->nodes.size() == 2);
  CHECK(hang->nodes[0].rank == Rank(0));
  CHECK(to_text(schedule.ops()[hang->nodes[0].at]) == "0B0");
  CHECK(to_text(hang->nodes[0].needs) == "1B0");
  CHECK(hang->nodes[0].on == Rank(1));
  CHECK(hang->nodes[1].on == Rank(0));
  CHECK(hang->cycle == std::vector<std::size_t>{0, 1});
}

TEST_CASE("ranks that only wait for the cycle are blocked but not in it") {
  // Ranks 1 and 2 hold each other up; rank 0 waits for them.
  const Schedule schedule = parse_schedule("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1 | 2F0 2F1 2B0 2B1");
  const auto hang = find_hang(schedule);
  REQUIRE(hang);
  CHECK(hang->nodes.size() == 3);
  CHECK(hang->cycle == std::vector<std::size_t>{1, 2});
  CHECK(describe(*hang, schedule) ==
        "rank 1 waits at 1B0 for 2B0 of rank 2, rank 2 waits at 2F1 for 1F1 of rank 1: a cycle");
}

TEST_CASE("a rank that waits for its own later op is a cycle of one") {
  // Both stages on one rank, 1F0 before 0F0.
  const Schedule schedule = parse_schedule("1F0 0F0 1B0 0B0");
  const auto hang = find_hang(schedule);
  REQUIRE(hang);
  CHECK(hang->cycle == std::vector<std::size_t>{0});
  CHECK(describe(*hang, schedule) == "rank 0 waits at 1F0 for 0F0 later in its own queue");
}

TEST_CASE("the input gradient is named as what it is") {
  const Schedule schedule = parse_schedule("0F0 0I0 0F1 0I1 0W0 0W1 | 1F0 1F1 1I0 1W0 1I1 1W1");
  const auto hang = find_hang(schedule);
  REQUIRE(hang);
  CHECK(describe(*hang, schedule) ==
        "rank 0 waits at 0I0 for 1I0 of rank 1, rank 1 waits at 1F1 for 0F1 of rank 0: a cycle");
}

TEST_CASE("of a group the op that waits is named") {
  const Schedule schedule = parse_schedule("0F0 (0F2;0B0)OVERLAP_F_B 0F1 0B1 0B2 | 1F0 1F1 1B0 1F2 1B1 1B2");
  const auto hang = find_hang(schedule);
  REQUIRE(hang);
  CHECK(describe(*hang, schedule) ==
        "rank 0 waits at 0B0 for 1B0 of rank 1, rank 1 waits at 1F1 for 0F1 of rank 0: a cycle");
}

TEST_CASE("a missing producer is named when there is no cycle") {
  // Built by hand, for validate() refuses it earlier.
  ScheduleHang hang;
  const Schedule schedule = parse_schedule("0F0 | 1F0");
  hang.nodes.push_back({Rank(1), 1, parse_op("0F0").value(), Rank(1), true});
  CHECK(describe(hang, schedule) == "rank 1 waits at 1F0 for 0F0 which no rank runs");
}

TEST_CASE("a long cycle shows its first eight ranks") {
  // Twelve ranks in a loop, stages r and 12 + r on rank r. Rank 0 starts with stage 12, which needs all the others first.
  std::string text = "12F0 0F0";
  for (int r = 1; r < 12; ++r) text += " | " + std::to_string(r) + "F0 " + std::to_string(12 + r) + "F0";
  const Schedule schedule = parse_schedule(text);
  const auto hang = find_hang(schedule);
  REQUIRE(hang);
  CHECK(hang->cycle.size() == 12);
  CHECK_THAT(describe(*hang, schedule),
             Catch::Matchers::StartsWith("rank 0 waits at 12F0 for 11F0 of rank 11, rank 11 waits at") &&
                 Catch::Matchers::EndsWith("... 4 more ranks: a cycle"));
}

}  // namespace pipeloom::wait_for_test
