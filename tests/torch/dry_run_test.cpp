#include "sim/torch/dry_run.hpp"

#include <pipeloom/schedule.hpp>
#include "sim/torch/homes.hpp"
#include "sim/torch/lowering.hpp"
#include "support/catch.hpp"
#include "torch/recorded_lists.hpp"

namespace pipeloom::torch::dry_run_test {
namespace {

using recorded::rows_text;

Homes two_ranks(int microbatches) {
  return {{Rank(0), Rank(1)}, microbatches};
}

}  // namespace

TEST_CASE("dry run: every recorded step grid") {
  int compared = 0;
  for (const auto& one : recorded::torch_schedules()) {
    if (!one.has("sim")) continue;
    INFO(one.id);
    const Homes homes(to_schedule(one.lists("compute")));
    const DryRun run = dry_run(one.lists("p2p"), homes);
    CHECK(!run.stuck);
    CHECK(run.steps == static_cast<std::size_t>(one.dry_run_steps));
    CHECK(rows_text(run.grid) == rows_text(one.lists("sim")));
    ++compared;
  }
  CHECK(compared == 46);
}

TEST_CASE("dry run: a full program runs too, groups and parameters included") {
  for (const auto& one : recorded::torch_schedules()) {
    INFO(one.id);
    const Homes homes(to_schedule(one.lists("compute")));
    CHECK(!dry_run(one.lists("comms"), homes).stuck);
    if (one.has("defer")) CHECK(!dry_run(one.lists("defer"), homes).stuck);
    if (one.has("runtime")) CHECK(!dry_run(one.lists("runtime"), homes).stuck);
  }
}

TEST_CASE("dry run: steps by hand") {
  // Step 0: rank 0 runs F; rank 1 waits for the SEND. Step 1: the SEND, and rank 1 receives in the same step, since results
  // are visible at once. Then F and B on rank 1, its SEND with rank 0's RECV in the second look, and B.
  const ActionLists lists = parse_action_lists("0F0 0SEND_F0 0RECV_B0 0B0 | 1RECV_F0 1F0 1B0 1SEND_B0");
  const DryRun run = dry_run(lists, two_ranks(1));
  CHECK(!run.stuck);
  CHECK(run.steps == 6);
  CHECK(rows_text(run.grid) == "0F0 0SEND_F0 - - 0RECV_B0 0B0\n- 1RECV_F0 1F0 1B0 1SEND_B0\n");
}

TEST_CASE("dry run: a missing send is a deadlock that names the heads") {
  const ActionLists lists = parse_action_lists("0F0 0RECV_B0 0B0 | 1RECV_F0 1F0 1B0 1SEND_B0");
  const DryRun run = dry_run(lists, two_ranks(1));
  REQUIRE(run.stuck);
  CHECK(run.stuck->heads == std::vector<std::size_t>{1, 0});
  CHECK(describe(*run.stuck, lists) == "rank 0 stands at 0RECV_B0, rank 1 at 1RECV_F0");
}

TEST_CASE("step grid: PyTorch's layout") {
  const ActionLists lists = parse_action_lists("0F0 - 0B0 | 1F0 1B0");
  CHECK(grid_text(lists, {.error_step = 1}) ==
        "        Rank 0 Rank 1\n"
        "Step 0: 0F0    1F0   \n"
        "Step 1:        1B0    <-- ERROR HERE\n"
        "Step 2: 0B0          \n");
  const ActionLists wide =
      parse_action_lists("(0F1;1B0)OVERLAP_F_B 0F0 0F0 0F0 0F0 0F0 0F0 0F0 0F0 0F0 0F0 | 1F0");
  CHECK(grid_text(wide, {.first = 9, .last = 11}) ==
        "         Rank 0               Rank 1 \n"
        "Step 09: 0F0                         \n"
        "Step 10: 0F0                         \n");
}

}  // namespace pipeloom::torch::dry_run_test
