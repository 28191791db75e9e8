#include "gui/model/chart/roots.hpp"

#include <string>

#include "gui/model/answer/answer.hpp"
#include "gui/model/edit/config_model.hpp"
#include "gui/model/panels/causes.hpp"
#include "gui/model/panels/details.hpp"
#include "gui/model/session/command.hpp"
#include "gui/part_state.hpp"
#include "study/run/evaluate.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace roots_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

/// 1f1b, p = 4, m = 8, F = 1, B = 2, on stage 3 1.6 times that. Its rank has 8 x 4.8 = 38.4 to do behind three F and in front of three B: 47.4. The
/// others do 24 and idle 23.4, of which 9 are the pipeline's and 14.4 the slow stage's; the last idles 9.
RunPtr slow_stage() {
  const Assignments said = {{"schedule", "\"1f1b\""},
                            {"ranks", "4"},
                            {"microbatches", "8"},
                            {"costs.forward", "[1,1,1,1.6]"},
                            {"costs.backward", "[2,2,2,3.2]"}};
  return build_run(study::evaluate(config_of(said)), "slow", RunSource::Configuration, "");
}
constexpr Ticks kTenth = kOne / 10;

Session& with_run(Session& session, RunPtr run) {
  session.preferences.panels["answer"] = true;
  (void)session.part<Roots>();
  (void)session.part<CausesModel>();
  (void)session.part<AnswerModel>();
  open_in(session, std::move(run));
  settle(session);
  return session;
}

}  // namespace

TEST_CASE("the slow stage that others wait for is the largest cause, and the rows sum to the idle time") {
  Session session;
  with_run(session, slow_stage());
  const std::vector<RootLine>& rows = session.part<CausesModel>().roots();
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].text == "stage 3, 1.6 x the others");
  CHECK(rows[0].what == "F and B of stage 3 take 1.6 x as long as the others'");
  CHECK(rows[0].amount == TickSum(3 * 144 * kTenth));
  CHECK(rows[0].share == Approx(43.2 / 79.2));
  CHECK(rows[0].amount + rows[1].amount + rows[2].amount == TickSum(792 * kTenth));
  CHECK(session.part<CausesModel>().summary()->total.total() == TickSum(792 * kTenth));
  CHECK(state_of(session.part<CausesModel>(), session).find(R"("amount":43.2)") != std::string::npos);
}

TEST_CASE("the answer names the cause with its rank and op, and a command goes there") {
  Session session;
  const RunPtr run = slow_stage();
  const auto& cause = with_run(session, run).part<AnswerModel>().cause();
  REQUIRE(cause);
  CHECK(cause->kind == RootKind::SlowStage);
  CHECK(cause->rank == Rank(3));
  CHECK(cause->op == "3/3B0");
  const std::string state = state_of(session.part<AnswerModel>(), session);
  CHECK(state.find(R"("largest_cause":"stage 3, 1.6 x the others")") != std::string::npos);
  run_command(session, "select-cause");
  REQUIRE(session.selection.op);
  CHECK(op_name(*run, session.selection.op->op) == "3/3B0");
  // The others are phases: the gap with the largest part of them is selected.
  run_command(session, "select-cause", "1");
  REQUIRE(session.selection.gap);
  CHECK_FALSE(session.selection.op);
  run_command(session, "select-cause", "3");
  CHECK(session.message.text.find("found '3'; allowed is a number from 0 to 2") != std::string::npos);
}

TEST_CASE("a gap's sentence names what is behind the op that it waits for") {
  Session session;
  const RunPtr run = with_run(session, slow_stage()).runs.front().run;
  // Rank 0 between 0F4, which ends at 14.8, and 0B1, which starts at 16.6.
  std::size_t span = 0;
  while (run->idle[0][span].start != 148 * kTenth) ++span;
  session.selection.gap = GapRef{run->id, Rank(0), span};
  const Details* const details = session.part<DetailsPart>().current(session);
  REQUIRE(details != nullptr);
  CHECK(details->sentence.find("0B1 of rank 0 waits for 1B1 of rank 1") == 0);
  CHECK(details->sentence.ends_with("Root cause: F and B of stage 3 take 1.6 x as long as the others'."));
}

TEST_CASE("several parts of a gap are listed with their lengths") {
  const RunPtr run = slow_stage();
  const std::vector<RootCause> parts = {
      {.kind = RootKind::Fill, .amount = 2 * kOne},
      {.kind = RootKind::Message, .amount = kOne, .from = Rank(0), .to = Rank(1)},
      {.kind = RootKind::Memory, .amount = kOne},
      {.kind = RootKind::Queueing, .amount = kOne}};
  CHECK(roots_text(*run, parts) ==
        "Root causes: the pipeline fills (2 units); messages are under way from rank 0 to 1 (1 unit); copies "
        "to and from the host are not done (1 unit); others (1 unit).");
  CHECK(roots_text(*run, {}).empty());
}

TEST_CASE("runs that hang or idle nowhere have no cause to go to") {
  Session session;
  with_run(session, run_of("0F0 0B0"));
  CHECK_FALSE(session.part<AnswerModel>().cause());
  run_command(session, "select-cause");
  CHECK(session.message.text.find("no rank idles") != std::string::npos);
  RunModel hanging = *run_of(kScene);
  hanging.hang.emplace();
  CHECK_FALSE(has_roots(hanging));
}

TEST_CASE("a cancelled search is done again while its run is shown") {
  Session session;
  const RunPtr run = open_in(session, slow_stage());
  auto& roots = session.part<Roots>();
  CHECK(roots.find(session, run) == nullptr);
  session.jobs.cancel(Roots::kLane);
  settle(session);
  (void)roots.find(session, run);
  settle(session);
  REQUIRE(roots.ready(run->id) != nullptr);
  session.close_run(0);
  settle(session);
  CHECK(roots.ready(run->id) == nullptr);
}

}  // namespace roots_test
