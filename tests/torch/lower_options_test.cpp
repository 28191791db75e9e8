// Options of PyTorch 2.15's lowering: look-ahead, late waits for reductions, a limit of open sends.

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/torch/lowering.hpp"
#include "sim/torch/send_budget.hpp"
#include "support/catch.hpp"
#include "torch/recorded_lists.hpp"

namespace pipeloom::torch::lower_options_test {
namespace {

using recorded::rows_text;

/// The kinds of release_2.15_options.txt, as tests/torch/real/own_lists.py names them.
LowerOptions options_of(const std::string& kind, int ranks) {
  const Lookahead one{Lookahead::Kind::ByRank, std::vector<int>(static_cast<std::size_t>(ranks), 1)};
  if (kind == "active1") return {.max_active_stages = 1};
  if (kind == "active2") return {.max_active_stages = 2};
  if (kind == "sends1") return {.max_open_sends = 1};
  if (kind == "sends2") return {.max_open_sends = 2};
  if (kind == "sends2_defer") return {.max_open_sends = 2, .defer_receives = true};
  if (kind == "ahead_auto") return {.lookahead = {Lookahead::Kind::Auto}};
  if (kind == "ahead_one") return {.lookahead = one};
  if (kind == "late") return {.defer_reduce_waits = true};
  REQUIRE(kind == "all");
  return {.max_active_stages = 2, .lookahead = one, .defer_reduce_waits = true, .max_open_sends = 3};
}

std::string error_of(const LowerOptions& options) {
  const std::string text = refusal(options);
  return text.empty() ? "accepted" : text;
}

}  // namespace

TEST_CASE("torch options: the lists of 2.15 itself") {
  const auto lists = recorded::lists_of_file("release_2.15_options");
  int compared = 0;
  for (const auto& [name, want] : lists) {
    INFO(name);
    const std::string shape = name.substr(0, name.rfind('.'));
    const std::string kind = name.substr(shape.size() + 1);
    if (kind == "compute") continue;
    const Schedule schedule = to_schedule(lists.at(shape + ".compute"));
    CHECK(rows_text(lower(schedule, options_of(kind, schedule.ranks()))) == rows_text(want));
    ++compared;
  }
  CHECK(compared == 44);  // five shapes, nine kinds; with one active stage DualPipeV is refused
}

TEST_CASE("torch options: stages are gathered no further ahead than asked, and stay as long as before") {
  // Three stages of one rank. One ahead: each is gathered right before its first use, and none is freed, as three may stay.
  const Schedule schedule = parse_schedule("0F0 1F0 2F0 2B0 1B0 0B0");
  const auto lowered = [&](Lookahead lookahead) {
    return rows_text(lower(schedule, {.lookahead = std::move(lookahead), .defer_reduce_waits = true}));
  };
  CHECK(lowered({Lookahead::Kind::ByRank, {1}}) ==
        "0UNSHARD 0F0 1UNSHARD 1F0 2UNSHARD 2F0 2B0 2REDUCE_GRAD 2RESHARD 1B0 2WAIT_REDUCE_GRAD 1REDUCE_GRAD "
        "1RESHARD 0B0 1WAIT_REDUCE_GRAD 0REDUCE_GRAD 0RESHARD 0WAIT_REDUCE_GRAD\n");
  CHECK(lowered({}).starts_with("0UNSHARD 1UNSHARD 2UNSHARD 0F0 "));
  CHECK_THROWS_WITH(lowered({Lookahead::Kind::ByRank, {1, 1}}),
                    "unshard_lookahead takes one number per rank, 1 here, not 2");
  const Lookahead automatic{Lookahead::Kind::Auto};
  CHECK(automatic.of(Rank(0), 4) == 2);
  CHECK(automatic.of(Rank(2), 4) == 4);
  CHECK(automatic.of(Rank(3), 4) == 4);
}

TEST_CASE("torch options: of two open sends the one whose receive is posted by then is waited for") {
  // 0B0 needs what rank 1 makes of 0SEND_F0, so at 0SEND_B0 of another chunk that one has been taken; 0SEND_F1 may not have been.
  const ActionLists lists = parse_action_lists(
      "0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0F2 0SEND_F2 0WAIT_SEND_F1 0WAIT_SEND_F0 0WAIT_SEND_F2 | "
      "1RECV_F0 1F0 1B0 1SEND_B0 1RECV_F1 1RECV_F2 1F1 1F2 1WAIT_SEND_B0");
  const Homes homes({Rank(0), Rank(1)}, 3);
  const auto first_row = [&](int most) {
    return row_text(limit_open_sends(lists, homes, most).row(Rank(0)));
  };
  CHECK(first_row(3) == row_text(lists.row(Rank(0))));
  CHECK(first_row(2) ==
        "0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0F2 0WAIT_SEND_F0 0SEND_F2 0WAIT_SEND_F1 0WAIT_SEND_F2");
  // With one, 0SEND_F1 waits for 0SEND_F0, though rank 0 may have to stand still.
  CHECK(first_row(1) ==
        "0F0 0SEND_F0 0F1 0WAIT_SEND_F0 0SEND_F1 0RECV_B0 0B0 0F2 0WAIT_SEND_F1 0SEND_F2 0WAIT_SEND_F2");
}

TEST_CASE("torch options: a limit of sends that would hang is refused") {
  // Rank 1 takes the second message first, so rank 0 must have both on their way.
  const ActionLists lists =
      parse_action_lists("0F0 0F1 0SEND_F0 0SEND_F1 0WAIT_SEND_F0 0WAIT_SEND_F1 | 1RECV_F1 1F1 1RECV_F0 1F0");
  const Homes homes({Rank(0), Rank(1)}, 2);
  CHECK_NOTHROW(limit_open_sends(lists, homes, 2));
  CHECK_THROWS_WITH(
      limit_open_sends(lists, homes, 1),
      "PyTorch 2.15 refuses max_outstanding_sends 1: on rank 0, before 0SEND_F1, none of the sends that are "
      "open (0SEND_F0) can be waited for without a hang; allow more");
  CHECK_THROWS_AS(
      limit_open_sends(
          parse_action_lists("0RECV_B0 0SEND_F0 0WAIT_SEND_F0 | 1RECV_F0 1SEND_B0 1WAIT_SEND_B0"), homes, 1),
      ScheduleError);
}

TEST_CASE("torch options: which release takes which") {
  CHECK(error_of({.target = Target::V214, .lookahead = {Lookahead::Kind::Auto}}) ==
        "PyTorch 2.14 gathers every stage that may be resident; take the target 2.15 for another look-ahead");
  CHECK(error_of({.target = Target::V214, .defer_reduce_waits = true}) ==
        "PyTorch 2.14 has no waits that could be moved; take the target 2.15");
  CHECK(error_of({.target = Target::V210, .max_open_sends = 2}) ==
        "PyTorch 2.10 has no waits that could be moved; take the target 2.15");
  CHECK(error_of({.lookahead = {Lookahead::Kind::ByRank, {4}}}) ==
        "unshard_lookahead has 4; allowed is 1 to the 3 stages that may be resident");
  CHECK(error_of({.max_open_sends = 0}) == "max_outstanding_sends is 0; a rank must be able to send");
  CHECK(error_of({.max_open_sends = 1}) == "accepted");
}

}  // namespace pipeloom::torch::lower_options_test
