#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "support/catch.hpp"

namespace pipeloom::placement_test {
namespace {

using Catch::Matchers::Contains;

/// rank of stage 0, 1, .. of one replica.
std::vector<int> ranks_of(const Placement& placement, int replica = 0) {
  std::vector<int> ranks;
  for (Stage s{0}; s < Stage(placement.stages()); ++s)
    ranks.push_back(placement.rank_of(s, Replica(replica)).value());
  return ranks;
}

std::vector<int> stages_on(const Placement& placement, int rank) {
  std::vector<int> stages;
  for (const Stage s : placement.stages_of(Rank(rank))) stages.push_back(s.value());
  return stages;
}

std::vector<Rank> as_ranks(const std::vector<int>& values) {
  std::vector<Rank> ranks;
  for (const int value : values) ranks.emplace_back(value);
  return ranks;
}

}  // namespace

TEST_CASE("linear puts stage s on rank s") {
  const auto placement = Placement::linear(4);
  CHECK(ranks_of(placement) == std::vector<int>{0, 1, 2, 3});
  CHECK(placement.chunks() == 1);
  CHECK(placement.replicas() == 1);
  CHECK(Placement::linear(1).stages() == 1);
}

TEST_CASE("loop puts stage s on rank s mod p") {
  const auto placement = Placement::loop(3, 2);
  CHECK(ranks_of(placement) == std::vector<int>{0, 1, 2, 0, 1, 2});
  CHECK(stages_on(placement, 1) == std::vector<int>{1, 4});
  CHECK(placement.chunks() == 2);
}

TEST_CASE("wave turns at both ends") {
  CHECK(ranks_of(Placement::wave(3, 2)) == std::vector<int>{0, 1, 2, 2, 1, 0});
  const auto four = Placement::wave(2, 4);
  CHECK(ranks_of(four) == std::vector<int>{0, 1, 1, 0, 0, 1, 1, 0});
  // Chunk c of rank r: c p + r for even c, (c + 1) p - 1 - r for odd c.
  CHECK(stages_on(four, 0) == std::vector<int>{0, 3, 4, 7});
  CHECK(stages_on(four, 1) == std::vector<int>{1, 2, 5, 6});
}

TEST_CASE("bidirectional holds two replicas in opposite directions") {
  const auto placement = Placement::bidirectional(4);
  CHECK(placement.stages() == 4);
  CHECK(placement.replicas() == 2);
  CHECK(placement.slots() == 8);
  CHECK(ranks_of(placement, 0) == std::vector<int>{0, 1, 2, 3});
  CHECK(ranks_of(placement, 1) == std::vector<int>{3, 2, 1, 0});
  CHECK(stages_on(placement, 1) == std::vector<int>{1, 2});
  CHECK(placement.chunks() == 1);  // replicas are not chunks
}

TEST_CASE("slots count replica by replica") {
  const auto placement = Placement::bidirectional(3);
  for (int replica = 0; replica < 2; ++replica)
    for (int s = 0; s < 3; ++s) {
      const Slot slot = placement.slot_of(Stage(s), Replica(replica));
      CHECK(slot.value() == replica * 3 + s);
      CHECK(placement.stage_of(slot) == Stage(s));
      CHECK(placement.replica_of(slot) == Replica(replica));
    }
}

TEST_CASE("every slot is listed on exactly its rank") {
  for (const auto& placement :
       {Placement::linear(5), Placement::loop(3, 4), Placement::wave(4, 2), Placement::bidirectional(4),
        Placement::custom(2, 3, 1, as_ranks({1, 1, 0}))}) {
    int listed = 0;
    for (Rank rank{0}; rank < Rank(placement.ranks()); ++rank)
      for (const Slot slot : placement.slots_of(rank)) {
        CHECK(placement.rank_of(slot) == rank);
        ++listed;
      }
    CHECK(listed == placement.slots());
  }
}

TEST_CASE("custom takes any map and compares by value") {
  const auto placement = Placement::custom(2, 3, 1, as_ranks({1, 0, 1}));
  CHECK(stages_on(placement, 1) == std::vector<int>{0, 2});
  CHECK(placement.chunks() == 2);
  CHECK(Placement::custom(3, 3, 1, as_ranks({0, 1, 2})) == Placement::linear(3));
  CHECK_FALSE(Placement::custom(3, 3, 1, as_ranks({0, 2, 1})) == Placement::linear(3));
}

TEST_CASE("custom refuses ranks that are not there") {
  CHECK_THROWS_WITH(Placement::custom(2, 3, 1, as_ranks({0, 2, 1})),
                    Contains("stage 1 is placed on rank 2") && Contains("0 to 1"));
  CHECK_THROWS_WITH(Placement::custom(2, 2, 1, as_ranks({0, -1})), Contains("stage 1 is placed on rank -1"));
  CHECK(Placement::custom(3, 2, 1, as_ranks({0, 2})).slots_of(Rank(1)).empty());
}

}  // namespace pipeloom::placement_test
