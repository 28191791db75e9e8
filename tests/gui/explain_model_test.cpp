#include "gui/model/answer/explain_model.hpp"

#include <string>

#include "gui/model/chart/chart_part.hpp"
#include "gui/model/chart/op_walk.hpp"
#include "gui/model/edit/config_model.hpp"
#include "gui/model/session/command.hpp"
#include "gui/part_state.hpp"
#include "study/run/evaluate.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace explain_model_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;
using study::explain::Cause;
using study::explain::CauseKind;

namespace {

/// 1f1b, p = 4, m = 8, one hop 0.5; F and B of stage 2 take `times` as long as 1 and 2.
Run run_with(double times, int microbatches = 8) {
  const auto of_stage = [&](double usual) {
    return "[" + std::to_string(usual) + "," + std::to_string(usual) + "," + std::to_string(usual * times) +
           "," + std::to_string(usual) + "]";
  };
  return study::evaluate(config_of({{"schedule", "\"1f1b\""},
                                    {"ranks", "4"},
                                    {"microbatches", std::to_string(microbatches)},
                                    {"costs.transfer.latency", "0.5"},
                                    {"costs.forward", of_stage(1)},
                                    {"costs.backward", of_stage(2)}}));
}

/// Predicted above, measured below.
Session& with_runs(Session& session, int microbatches = 8) {
  (void)session.part<ExplainModel>();
  open_in(session, build_run(run_with(1, microbatches), "predicted", RunSource::Configuration, ""));
  open_in(session, build_timed_run(run_with(1.5, microbatches).timeline, "measured", "measured.jsonl"));
  settle(session);
  return session;
}

}  // namespace

TEST_CASE("the slow rank of a measured run is its cause, and amounts sum to the difference") {
  Session session;
  const auto& model = with_runs(session).part<ExplainModel>();
  REQUIRE(model.explanation() != nullptr);
  const auto& causes = model.explanation()->causes;
  CHECK(causes.front().text.find("rank 2 is slower by 50.0 %") == 0);
  Ticks sum = 0;
  for (const Cause& cause : causes) sum += cause.amount;
  CHECK(sum == session.runs[1].run->span().length() - session.runs[0].run->span().length());
  CHECK(model.rows().size() == causes.size());
  CHECK(state_of(session.part<ExplainModel>(), session).find(R"("kind":"rank")") != std::string::npos);
}

TEST_CASE("a cause is highlighted in both runs while it is asked for") {
  Session session;
  with_runs(session);
  auto& model = session.part<ExplainModel>();
  const auto& chart = session.part<ChartPart>();
  model.hover(0);
  settle(session);
  REQUIRE(chart.highlights.size() == 2);
  // Eight F and eight B of rank 2.
  for (const OpenRun& open : session.runs) {
    const auto& ops = *chart.highlights.at(open.run->id);
    CHECK(ops.size() == 16);
    for (const std::size_t op : ops) CHECK(rank_at(*open.run, op) == Rank(2));
  }
  CHECK(&chart.bright() == &chart.highlights);
  model.hover(std::nullopt);
  settle(session);
  CHECK(chart.highlights.empty());
  run_command(session, "highlight-cause", "0");
  settle(session);
  CHECK(chart.highlights.size() == 2);
  run_command(session, "highlight-cause", "");
  settle(session);
  CHECK(chart.highlights.empty());
  run_command(session, "highlight-cause", "99");
  CHECK(session.message.text.find("allowed is the number of a cause") != std::string::npos);
}

TEST_CASE("a click goes to the op that differs most") {
  Session session;
  with_runs(session);
  run_command(session, "go-to-cause", "0");
  REQUIRE(session.selection.op);
  CHECK(session.selection.op->run == session.runs[1].run->id);
  // B takes 1 more, F a half.
  CHECK(op_name(*session.runs[1].run, session.selection.op->op) == "2/2B0");
}

TEST_CASE("ops of links, order, hiccups and of what has none") {
  const auto run = build_run(run_with(1), "run", RunSource::Configuration, "");
  const auto count = [&](const Cause& cause) { return ops_of(*run, cause).size(); };
  // 1F0 .. 1F7 wait for messages from rank 0, 0B0 .. 0B7 for those from rank 1.
  CHECK(count({.kind = CauseKind::Link, .from = Rank(0), .to = Rank(1)}) == 8);
  CHECK(count({.kind = CauseKind::Link, .from = Rank(0), .to = Rank(1), .both_ways = true}) == 16);
  CHECK(count({.kind = CauseKind::MessageTime}) == 3 * 16);
  CHECK(count({.kind = CauseKind::Pause, .rank = Rank(1)}) == 16);
  CHECK(count({.kind = CauseKind::Order, .ranks = {Rank(0), Rank(3)}}) == 32);
  CHECK(count({.kind = CauseKind::Hiccup, .rank = Rank(1), .ops = {forward(Stage(1), Microbatch(3))}}) == 1);
  CHECK(count({.kind = CauseKind::Microbatch, .microbatch = Microbatch(2), .op_kind = OpKind::Forward}) == 4);
  CHECK(count({.kind = CauseKind::Noise}) == 0);
  CHECK(count({.kind = CauseKind::Costs}) == 0);
}

TEST_CASE("large runs are explained when asked for, and a stop gives it up") {
  Session session;
  // 2 x 4 x 5000 ops are more than 2^15.
  with_runs(session, 5000);
  auto& model = session.part<ExplainModel>();
  CHECK(model.waits_for_question());
  CHECK(model.explanation() == nullptr);
  run_command(session, "explain");
  CHECK(model.pending());
  session.stop();
  settle(session);
  CHECK_FALSE(model.pending());
  CHECK(model.explanation() == nullptr);
  CHECK(model.waits_for_question());
}

TEST_CASE("what cannot be compared is said") {
  Session session;
  auto& model = session.part<ExplainModel>();
  run_command(session, "explain");
  CHECK(session.message.text.find("nothing to explain") != std::string::npos);
  open_in(session, build_run(run_with(1), "predicted", RunSource::Configuration, ""));
  open_in(session, build_timed_run(run_with(1, 4).timeline, "fewer", "fewer.jsonl"));
  settle(session);
  CHECK(model.explanation() == nullptr);
  CHECK(model.refusal().find("fewer: ") == 0);
  session.close_run(0);
  settle(session);
  CHECK(model.measured() == 0);
  CHECK(state_of(model, session) == "null");
}

}  // namespace explain_model_test
