#include "sim/torch/liveness.hpp"

#include "support/catch.hpp"
#include "torch/recorded_lists.hpp"

namespace pipeloom::torch::liveness_test {
namespace {

std::vector<std::int32_t> slots_of(const RankLiveness& rank) {
  std::vector<std::int32_t> slots;
  for (const Lifetime& one : rank.lifetimes) slots.push_back(one.slot);
  return slots;
}

std::vector<std::int32_t> slots_by_rank(const Liveness& liveness) {
  std::vector<std::int32_t> slots;
  for (const RankLiveness& rank : liveness.ranks) slots.push_back(rank.slots);
  return slots;
}

}  // namespace

TEST_CASE("liveness: recorded peaks of every schedule, both forms") {
  int compared = 0;
  for (const auto& one : recorded::torch_schedules()) {
    INFO(one.id);
    for (const char* kind : {"compute", "comms"}) {
      const ActionLists lists = one.lists(kind);
      const Liveness live = live_activations(lists);
      CHECK(live.problems.empty());
      CHECK(slots_by_rank(live) == one.peak_stage_microbatch);
      CHECK(slots_by_rank(live_activations(lists, LivenessUnit::Microbatch)) == one.peak_microbatch);
    }
    ++compared;
  }
  CHECK(compared == 79);
}

TEST_CASE("liveness: W frees, I does not") {
  // 0 takes slot 0; 1 slot 1; 2 begins before W0, slot 2; 3 begins behind W0 and takes slot 0 again.
  const auto live = live_activations(parse_action_lists("0F0 0F1 0I0 0F2 0W0 0F3 0I1 0W1 0I2 0W2 0I3 0W3"));
  CHECK(live.ranks[0].slots == 3);
  CHECK(slots_of(live.ranks[0]) == std::vector<std::int32_t>{0, 1, 2, 0});
}

TEST_CASE("liveness: two stages on a rank, apart and merged") {
  const auto lists = parse_action_lists("0F0 2F0 0F1 2B0 0B0 2F1 2B1 0B1 0F2 2F2 2B2 0B2");
  const auto live = live_activations(lists);
  CHECK(live.ranks[0].slots == 3);
  CHECK(slots_of(live.ranks[0]) == std::vector<std::int32_t>{0, 1, 2, 0, 0, 1});
  const auto merged = live_activations(lists, LivenessUnit::Microbatch);
  CHECK(merged.ranks[0].slots == 2);
  CHECK(slots_of(merged.ranks[0]) == std::vector<std::int32_t>{0, 1, 0});
}

TEST_CASE("liveness: a group is one cell, so what it frees cannot be taken by what begins in it") {
  const auto live = live_activations(parse_action_lists("0F0 (0F1;0B0)OVERLAP_F_B 0B1"));
  CHECK(live.ranks[0].slots == 2);
}

TEST_CASE("liveness: what the rule has no answer for") {
  const auto problem = [](const char* text) {
    const auto live = live_activations(parse_action_lists(text));
    CHECK(live.ranks[0].slots == 0);
    return live.problems.empty() ? std::string() : live.problems.front();
  };
  CHECK(problem("0F0 0F0 0B0") == "rank 0: 0F0 stands twice; leave one of them out");
  CHECK(problem("0F0 0B0 0B0") == "rank 0: 0B0 releases what is released; leave one of its backwards out");
  CHECK(problem("0B0") == "rank 0: 0B0 has no F before it; add the F, or leave this out");
  CHECK(problem("0B0 0F0") == "rank 0: 0B0 has no F before it; add the F, or leave this out");
  CHECK(problem("0F0 0W0") == "rank 0: 0W0 has no I before it; add the I, or write B");
  CHECK(problem("0F0") == "rank 0: 0F0 is never released by a B or W; add one");
  CHECK(problem("0F0 0I0") == "rank 0: 0F0 is never released by a B or W; add one");
  CHECK(problem("0F0 0I0 0I0 0W0") ==
        "rank 0: 0I0 comes after another backward of it; leave one of them out");
  CHECK(problem("0F0 0I0 0B0") == "rank 0: 0B0 comes after an I of it; write W");
}

}  // namespace pipeloom::torch::liveness_test
