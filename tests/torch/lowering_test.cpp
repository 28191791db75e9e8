// The lowering passes against what PyTorch's own passes made of the same orders.

#include "sim/torch/lowering.hpp"

#include <fmt/format.h>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/torch/pairing.hpp"
#include "support/catch.hpp"
#include "torch/recorded_lists.hpp"

namespace pipeloom::torch::lowering_test {
namespace {

using recorded::rows_text;
using recorded::torch_schedules;

/// Compares `make(compute)` with every recorded list of `kind`; returns how many there are.
template <class Make>
int compare_all(const std::string& kind, const Make& make) {
  int compared = 0;
  for (const auto& one : torch_schedules()) {
    if (!one.has(kind)) continue;
    INFO(one.id << '.' << kind);
    CHECK(rows_text(make(one.lists("compute"))) == rows_text(one.lists(kind)));
    ++compared;
  }
  return compared;
}

template <class Make>
int compare_lowered(const std::string& kind, const Make& make) {
  return compare_all(kind, [&](const ActionLists& compute) { return make(to_schedule(compute)); });
}

std::string error_of(const LowerOptions& options) {
  try {
    (void)lower(parse_schedule("0F0 0B0 | 1F0 1B0"), options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("torch lowering: every recorded compute_comms list") {
  for (const Target target : {Target::V210, Target::V213, Target::V214})
    CHECK(compare_lowered("comms", [target](const Schedule& s) { return lower(s, {.target = target}); }) ==
          79);
}

TEST_CASE("torch lowering: other numbers of resident stages") {
  int compared = 0;
  for (const int n : {1, 2, 4})
    compared += compare_lowered("comms_mas" + std::to_string(n), [n](const Schedule& s) {
      const Homes homes(s);
      return add_transfers(add_residency(to_actions(s), homes, {.max_active_stages = n}), homes).lists;
    });
  CHECK(compared == 10);
}

TEST_CASE("torch lowering: deferred receives") {
  for (const Target target : {Target::V213, Target::V214})
    CHECK(compare_lowered("defer", [target](const Schedule& s) {
            return lower(s, {.target = target, .defer_receives = true});
          }) == 56);
}

TEST_CASE("torch lowering: 8 of the recorded deferred lists receive a message as another one") {
  int swapped = 0;
  for (const auto& one : torch_schedules()) {
    const Homes homes(to_schedule(one.lists("compute")));
    CHECK(swapped_messages(one.lists("comms"), homes).empty());
    if (one.has("defer") && !swapped_messages(one.lists("defer"), homes).empty()) ++swapped;
  }
  CHECK(swapped == 8);
}

TEST_CASE("torch lowering: 2.15, its own lists") {
  const auto lists = recorded::lists_of_file("release_2.15");
  int compared = 0;
  for (const auto& [name, want] : lists) {
    INFO(name);
    const std::string shape = name.substr(0, name.rfind('.'));
    const std::string kind = name.substr(shape.size() + 1);
    if (kind == "compute") continue;
    const Schedule schedule = to_schedule(lists.at(shape + ".compute"));
    CHECK(rows_text(lower(schedule, {.target = Target::V215, .defer_receives = kind == "defer"})) ==
          rows_text(want));
    CHECK(wait_problem(want) == std::nullopt);
    ++compared;
  }
  CHECK(compared == 22);
}

TEST_CASE("torch lowering: releases of mid-2025") {
  CHECK(compare_lowered("legacy", [](const Schedule& s) { return lower(s, {.target = Target::Legacy}); }) ==
        51);
}

TEST_CASE("torch lowering: messages placed straight into the drawn order, blanks costing a round") {
  CHECK(compare_all("p2p", [](const ActionLists& compute) {
          const Homes homes(to_schedule(compute));
          const Transfers transfers = add_transfers(compute, homes);
          CHECK(!transfers.stuck);
          return transfers.lists;
        }) == 56);
}

TEST_CASE("torch lowering: I and W merged") {
  CHECK(compare_all("merged", merge_backwards) == 25);
}

TEST_CASE("torch lowering: merging takes only neighbours of one stage and microbatch") {
  const auto merged = [](const char* text) { return rows_text(merge_backwards(parse_action_lists(text))); };
  CHECK(merged("0F0 0I0 - 0W0") == "0F0 0B0\n");
  CHECK(merged("0I0 0I1 0W1 0W0") == "0I0 0B1 0W0\n");
  CHECK(merged("0I0 1W0 | 0I0") == "0I0 1W0\n0I0\n");
  CHECK(merged("0I0 (0F1;1B0)OVERLAP_F_B 0W0") == "0I0 (0F1;1B0)OVERLAP_F_B 0W0\n");
}

TEST_CASE("torch lowering: which release takes which option") {
  CHECK(error_of({.target = Target::V210, .defer_receives = true}) ==
        "PyTorch 2.10 cannot defer receives; take the target 2.13 or a later one");
  CHECK(error_of({.target = Target::V213, .max_active_stages = 2}) ==
        "PyTorch 2.13 always keeps 3 stages resident, not 2; take the target 2.15");
  CHECK(error_of({.target = Target::V215, .max_active_stages = 0}) ==
        "max_active_stages is 0; at least one stage must be resident");
  CHECK(error_of({.target = Target::Legacy, .merge = true}) == "accepted");
  CHECK(find_target("2.13") == Target::V213);
  CHECK(find_target("torch-2.15") == Target::V215);
  CHECK(find_target("2.14") == Target::V214);
  CHECK_THROWS_AS(find_target("2.12"), InputError);
}

TEST_CASE("torch lowering: an order that hangs says where") {
  const Schedule schedule = parse_schedule("0F0 0B0 0F1 0B1 | 1F1 1B1 1F0 1B0");
  try {
    (void)lower(schedule);
    FAIL("lowered");
  } catch (const ScheduleError& error) {
    CHECK(std::string(error.what()) ==
          "the schedule hangs, so it cannot be lowered: rank 0 stands at 0B0, rank 1 at 1F1");
  }
}

TEST_CASE("torch lowering: a receive that nothing uses cannot be deferred") {
  const ActionLists lists = parse_action_lists("0F0 0SEND_F0 | 1RECV_F0");
  const Homes homes({Rank(0), Rank(1)}, 1);
  CHECK_THROWS_AS(defer_receives(lists, homes), ScheduleError);
}

TEST_CASE("torch lowering: two stages in a group are resident together, and leave together") {
  const Schedule schedule = parse_schedule("0F0 1F0 (0F1;1B0)OVERLAP_F_B 1F1 0B0 1B1 0B1");
  CHECK(rows_text(add_residency(to_actions(schedule), Homes(schedule), {.max_active_stages = 1})) ==
        "0UNSHARD 0F0 0RESHARD 1UNSHARD 1F0 0UNSHARD (0F1;1B0)OVERLAP_F_B 0RESHARD 1F1 1RESHARD 0UNSHARD 0B0 "
        "0RESHARD 1UNSHARD 1B1 1REDUCE_GRAD 1RESHARD 0UNSHARD 0B1 0REDUCE_GRAD 0RESHARD\n");
}

TEST_CASE("torch lowering: 2.15 refuses a group of more stages than may be resident") {
  const Schedule schedule = parse_schedule("0F0 1F0 (0F1;1B0)OVERLAP_F_B 1F1 0B0 1B1 0B1");
  CHECK_THROWS_WITH(lower(schedule, {.target = Target::V215, .max_active_stages = 1}),
                    "PyTorch 2.15 refuses (0F1;1B0)OVERLAP_F_B: it needs 2 stages resident at once, and "
                    "max_active_stages is 1; allow 2 or more");
  CHECK_NOTHROW(lower(schedule, {.target = Target::V215, .max_active_stages = 2}));
}

TEST_CASE("torch lowering: where 2.15 waits for sends") {
  // 0F1's output is known to have been taken when its gradient comes back; 1SEND_B has no such proof and waits at the end.
  const Schedule schedule = parse_schedule("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1");
  CHECK(
      rows_text(lower(schedule)) ==
      "0UNSHARD 0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0WAIT_SEND_F0 0RECV_B1 0B1 0WAIT_SEND_F1 0REDUCE_GRAD "
      "0WAIT_REDUCE_GRAD 0RESHARD\n"
      "1UNSHARD 1RECV_F0 1F0 1RECV_F1 1B0 1SEND_B0 1F1 1B1 1SEND_B1 1REDUCE_GRAD 1WAIT_REDUCE_GRAD 1RESHARD "
      "1WAIT_SEND_B0 1WAIT_SEND_B1\n");
}

TEST_CASE("torch lowering: what 2.15 refuses about waits") {
  const auto problem = [](const char* text) {
    const auto found = wait_problem(parse_action_lists(text));
    return found ? fmt::format("{},{}: {}", found->rank.value(), found->step, found->message) : "";
  };
  CHECK(problem("0REDUCE_GRAD 0WAIT_REDUCE_GRAD 0SEND_F0 0WAIT_SEND_F0").empty());
  CHECK(problem("0F0 0REDUCE_GRAD") == "0,1: 0REDUCE_GRAD has no 0WAIT_REDUCE_GRAD behind it; add it");
  CHECK(problem("0REDUCE_GRAD 1REDUCE_GRAD") ==
        "0,1: 1REDUCE_GRAD starts while 0REDUCE_GRAD has no WAIT_REDUCE_GRAD yet; put 0WAIT_REDUCE_GRAD in "
        "front of it");
  CHECK(problem("0WAIT_REDUCE_GRAD") ==
        "0,0: 0WAIT_REDUCE_GRAD waits for a reduction that is not under way; put it behind 0REDUCE_GRAD");
  CHECK(problem("0F0 | 0SEND_F0 0F0 0SEND_F0") == "1,2: 0SEND_F0 stands twice; leave one of them out");
  CHECK(problem("0SEND_F0") == "0,0: 0SEND_F0 has no 0WAIT_SEND_F0 behind it; add it");
  CHECK(problem("0WAIT_SEND_B3") ==
        "0,0: 0WAIT_SEND_B3 has no 0SEND_B3 before it to wait for; put it behind that, or leave it out");
  CHECK(problem("0SEND_F0 | 0WAIT_REDUCE_GRAD").starts_with("1,0"));  // reductions of all ranks come first
}

}  // namespace pipeloom::torch::lowering_test
