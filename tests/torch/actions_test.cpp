#include "sim/actions.hpp"

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "schedules/generator.hpp"
#include "support/catch.hpp"

namespace pipeloom::actions_test {
namespace {

const Stage kThird(3);
const Microbatch kSeventh(7);

}  // namespace

TEST_CASE("actions: text of every kind, both ways") {
  const std::pair<Action, const char*> cases[] = {
      {{ActionKind::Forward, kThird, kSeventh}, "3F7"},
      {{ActionKind::Backward, kThird, kSeventh}, "3B7"},
      {{ActionKind::BackwardInput, kThird, kSeventh}, "3I7"},
      {{ActionKind::BackwardWeight, kThird, kSeventh}, "3W7"},
      {{ActionKind::Recompute, kThird, kSeventh}, "3R7"},
      {{ActionKind::Offload, kThird, kSeventh}, "3O7"},
      {{ActionKind::Reload, kThird, kSeventh}, "3L7"},
      {{ActionKind::SendForward, kThird, kSeventh}, "3SEND_F7"},
      {{ActionKind::RecvForward, kThird, kSeventh}, "3RECV_F7"},
      {{ActionKind::SendBackward, kThird, kSeventh}, "3SEND_B7"},
      {{ActionKind::RecvBackward, kThird, kSeventh}, "3RECV_B7"},
      {{ActionKind::Unshard, kThird}, "3UNSHARD"},
      {{ActionKind::Reshard, kThird}, "3RESHARD"},
      {{ActionKind::ReduceGrad, kThird}, "3REDUCE_GRAD"},
  };
  for (const auto& [action, text] : cases) {
    INFO(text);
    CHECK(to_text(action) == text);
    CHECK(parse_action(text) == action);
  }
  CHECK(to_text(Action()).empty());
}

TEST_CASE("actions: the text form is strict") {
  for (const char* text : {"", "F", "3", "3F", "F7", "03F7", "3F07", "3f7", "3F7x", " 3F7", "3F-1",
                           "3UNSHARD7", "3SEND_F", "3BW7", "1048576F0", "0F1048576", "0F0.", "0F0.65535"}) {
    INFO(text);
    CHECK(!parse_action(text));
  }
  CHECK(to_text(*parse_action("3SEND_F7.2")) == "3SEND_F7.2");
  CHECK(parse_cell("(0F7;7B3)OVERLAP_F_B").size() == 2);
  CHECK(cell_text(parse_cell("(0F7;7B3)OVERLAP_F_B")) == "(0F7;7B3)OVERLAP_F_B");
  CHECK(parse_cell("()OVERLAP_F_B").empty());
  CHECK(parse_cell("(0F7;7B3)F").empty());
  CHECK_THROWS_AS(parse_action_lists("0F0 x"), InputError);
}

TEST_CASE("actions: an op's action is the op again") {
  const Op op = recompute(kThird, kSeventh).with_slice(4).with_joined(true);
  const Action action(op);
  CHECK(action.op() == op);
  CHECK(action.joined());
  CHECK(action.slice() == 4);
  CHECK(to_text(action.as(ActionKind::SendForward, Stage(1))) == "1SEND_F7.4");
}

TEST_CASE("actions: rows of cells") {
  const ActionLists lists = parse_action_lists("0F0 - (0F1;1B0)OVERLAP_F_B | - 1RECV_F0 1UNSHARD 1F0");
  CHECK(lists.ranks() == 2);
  CHECK(lists.num_actions() == 8);
  CHECK(row_text(lists.row(Rank(0))) == "0F0 - (0F1;1B0)OVERLAP_F_B");
  CHECK(row_text(without_idle(lists).row(Rank(1))) == "1RECV_F0 1UNSHARD 1F0");
  CHECK(idle_cells(lists) == IdleCells{{0, 1, 0}, {1, 0}});
  CHECK(lists == parse_action_lists("0F0 - (0F1;1B0)OVERLAP_F_B | - 1RECV_F0 1UNSHARD 1F0"));
  CHECK(!(lists == parse_action_lists("0F0 - 0F1 1B0 | - 1RECV_F0 1UNSHARD 1F0")));
}

TEST_CASE("actions: of every registered schedule, and back") {
  for (const auto& generator : schedules::all()) {
    Params params;
    params.chunks = generator.requirements.default_chunks;
    params.microbatches = 8;
    if (!schedules::refusal(generator, params).empty()) continue;
    INFO(generator.name);
    const Schedule schedule = schedules::make(generator, params);
    CHECK(to_schedule(to_actions(schedule)) == parse_schedule([&] {
            std::string text;
            for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
              text += (rank == Rank(0) ? "" : " | ") + queue_text(schedule, rank);
            return text;
          }()));
  }
}

TEST_CASE("actions: blanks go in where they are told and come out again") {
  const Schedule schedule = parse_schedule("0F0 0B0 | 1F0 1B0");
  const IdleCells blanks = {{0, 2, 1}, {1, 0, 0}};
  const ActionLists lists = to_actions(schedule, &blanks);
  CHECK(row_text(lists.row(Rank(0))) == "0F0 - - 0B0 -");
  CHECK(row_text(lists.row(Rank(1))) == "- 1F0 1B0");
  CHECK(idle_cells(lists) == blanks);
  CHECK(to_schedule(lists) == schedule);
}

TEST_CASE("actions: what is no computation leaves a group without breaking it") {
  const ActionLists lists = parse_action_lists("(0F0;1UNSHARD)OVERLAP_F_B (1F0;0F1;1RECV_F1)OVERLAP_F_B 0B0");
  CHECK(queue_text(to_schedule(lists), Rank(0)) == "0F0 (1F0;0F1)OVERLAP 0B0");
  ActionLists none;
  none.begin_rank();
  none.add(Action(ActionKind::Forward, Stage(0)));
  CHECK_THROWS_AS(to_schedule(none), InputError);
}

}  // namespace pipeloom::actions_test
