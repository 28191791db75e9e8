#include "gui/model/edit/what_if.hpp"

#include <nlohmann/json.hpp>

#include <fstream>

#include "gui/model/chart/op_walk.hpp"
#include "gui/model/edit/edit_history.hpp"
#include "gui/model/files/open_file.hpp"
#include "gui/model/session/command.hpp"
#include "gui/part_state.hpp"
#include "study/run/evaluate.hpp"
#include "support/catch.hpp"
#include "support/temporary.hpp"
#include "support/window_scenes.hpp"

namespace what_if_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

RunPtr run_of_config(const Assignments& assignments) {
  const io::Config config = config_of(assignments);
  return build_run(study::evaluate(config), "run", RunSource::Configuration, "");
}

Ticks duration_of(const RunModel& run, const std::string& op) {
  const std::size_t at = find_op(run, op);
  return run.timeline.end[at] - run.timeline.start[at];
}

/// The run after the op took `units`.
RunPtr changed(const Assignments& from, const std::string& op, CostScope scope, double units) {
  const RunPtr run = run_of_config(from);
  const auto duration = static_cast<Ticks>(units * static_cast<double>(kOne));
  REQUIRE(cost_refusal(*run, find_op(*run, op), scope).empty());
  return run_of_config(with_duration(from, *run, find_op(*run, op), scope, duration));
}

const Assignments kPlain = {{"schedule", "\"1f1b\""}, {"ranks", "4"}, {"microbatches", "8"}};

Assignments with(Assignments assignments, const std::map<std::string, std::string>& more) {
  assignments.insert(more.begin(), more.end());
  return assignments;
}

}  // namespace

TEST_CASE("an op alone, its kind on its stage, its rank take another time") {
  const RunPtr op = changed(kPlain, "2/2B3", CostScope::Op, 2.5);
  CHECK(duration_of(*op, "2/2B3") == 5 * kOne / 2);
  CHECK(duration_of(*op, "2/2B4") == 2 * kOne);
  const RunPtr kind = changed(kPlain, "2/2B3", CostScope::StageKind, 2.5);
  CHECK(duration_of(*kind, "2/2B3") == 5 * kOne / 2);
  CHECK(duration_of(*kind, "2/2B4") == 5 * kOne / 2);
  CHECK(duration_of(*kind, "1/1B3") == 2 * kOne);
  CHECK(duration_of(*kind, "2/2F3") == kOne);
  const RunPtr rank = changed(kPlain, "2/2B3", CostScope::Rank, 2.5);
  CHECK(duration_of(*rank, "2/2B3") == 5 * kOne / 2);
  CHECK(duration_of(*rank, "2/2F3") == 5 * kOne / 4);
  CHECK(duration_of(*rank, "1/1F3") == kOne);
}

TEST_CASE("what comes on top of stated times is taken off first") {
  const Assignments odd = with(kPlain, {{"costs.forward", "8"},
                                        {"costs.backward", "16"},
                                        {"costs.per", "\"rank\""},
                                        {"costs.entry", "0.5"},
                                        {"costs.rank_scale", "[1,1,2,1]"},
                                        {"costs.microbatch_scale", "[1,1,1,1.6,1,1,1,1]"}});
  for (const CostScope scope : {CostScope::Op, CostScope::StageKind, CostScope::Rank})
    CHECK(duration_of(*changed(odd, "2/2B3", scope, 20.5), "2/2B3") == 41 * kOne / 2);
  // Every other microbatch takes 20 / 1.6 = 12.5, and the entry.
  CHECK(duration_of(*changed(odd, "2/2B3", CostScope::StageKind, 20.5), "2/2B4") == 13 * kOne);
}

TEST_CASE("numbers of all of a rank's stages, and slices of a pass") {
  const Assignments chunks = {{"schedule", "\"interleaved-1f1b\""},
                              {"ranks", "2"},
                              {"microbatches", "4"},
                              {"chunks", "2"},
                              {"costs.per", "\"rank\""},
                              {"costs.forward", "2"},
                              {"costs.backward", "4"}};
  for (const CostScope scope : {CostScope::Op, CostScope::StageKind, CostScope::Rank})
    CHECK(duration_of(*changed(chunks, "1/3F1", scope, 1.75), "1/3F1") == 7 * kOne / 4);
}

TEST_CASE("exceptions that stand already stay in force, the newest of an op counts") {
  const Assignments rows = with(
      kPlain,
      {{"costs.exceptions",
        R"([{"kind": "F", "stage": 1, "time": 3}, {"kind": "F", "stage": 1, "microbatch": 2, "time": 4}])"}});
  const RunPtr again = changed(rows, "1/1F2", CostScope::Op, 5);
  CHECK(duration_of(*again, "1/1F2") == 5 * kOne);
  CHECK(duration_of(*again, "1/1F1") == 3 * kOne);
  const RunPtr all = changed(rows, "1/1F2", CostScope::StageKind, 2);
  CHECK(duration_of(*all, "1/1F2") == 2 * kOne);
  CHECK(duration_of(*all, "1/1F1") == 2 * kOne);
}

TEST_CASE("times of single overlapped pairs stay when an op's time changes") {
  const Assignments pairs = {{"schedule", "\"dualpipev\""},
                             {"ranks", "2"},
                             {"microbatches", "6"},
                             {"costs.overlapped", "2.5"},
                             {"costs.exceptions", R"([{"stage": 0, "microbatch": 4, "overlapped": 9}])"}};
  REQUIRE(duration_of(*run_of_config(pairs), "0/0F4") == 9 * kOne);
  for (const CostScope scope : {CostScope::Op, CostScope::StageKind}) {
    const RunPtr run = changed(pairs, "0/0F0", scope, 3);
    CHECK(duration_of(*run, "0/0F0") == 3 * kOne);
    CHECK(duration_of(*run, "0/0F4") == 9 * kOne);
    CHECK(duration_of(*run, "0/0F5") == 5 * kOne / 2);
  }
}

TEST_CASE("times with a unit are written with it") {
  const Assignments ms = with(kPlain, {{"costs.forward", "\"2ms\""}, {"costs.backward", "\"4ms\""}});
  const RunPtr run = run_of_config(ms);
  const Ticks wanted = 3 * ticks_per(TimeUnit::Millisecond);
  const auto next = with_duration(ms, *run, find_op(*run, "0/0F1"), CostScope::StageKind, wanted);
  CHECK(duration_of(*run_of_config(next), "0/0F1") == wanted);
}

TEST_CASE("a drag changes the picture, is one step to undo, and can be given up") {
  Session session;
  session.part<ConfigModel>().replace(session, kPlain);
  settle(session);
  const RunPtr before = session.runs.front().run;
  auto& what_if = session.part<WhatIf>();
  const OpRef op{before->id, find_op(*before, "2/2B3")};
  REQUIRE(what_if.begin(session, op));
  for (const double more : {0.3, 0.6, 1.0}) {
    what_if.stretch(session, more * static_cast<double>(kOne), 1e7, CostScope::StageKind);
    settle(session);
  }
  const auto state = nlohmann::json::parse(state_of(what_if, session));
  CHECK(state["scope"] == "stage-kind");
  CHECK(state["from"] == 2.0);
  CHECK(state["to"] == 3.0);
  CHECK(state["step_from"] == 33.0);
  CHECK(state["step_to"] > 33.0);
  CHECK(what_if.shown(session).lines.front() == "B of stage 2: 2 units → 3 units (+50.0 %)");
  what_if.release(session);
  CHECK(duration_of(*session.active_run(), "2/2B5") == 3 * kOne);
  CHECK(session.part<ConfigModel>().is_set("costs.exceptions"));
  session.part<EditHistory>().undo(session);
  settle(session);
  CHECK(duration_of(*session.active_run(), "2/2B3") == 2 * kOne);
  CHECK_FALSE(session.part<ConfigModel>().is_set("costs.exceptions"));

  REQUIRE(what_if.begin(session, {session.active_run()->id, op.op}));
  what_if.stretch(session, 5 * static_cast<double>(kOne), 1e7, CostScope::Rank);
  run_command(session, "clear");
  settle(session);
  CHECK(session.active_run()->metrics->makespan == 33 * kOne);
  CHECK_FALSE(what_if.held());
}

TEST_CASE("a duration is typed as a time or as a share of the one that holds") {
  const Ticks two = 2 * ticks_per(TimeUnit::Millisecond);
  const auto typed = [&](std::string_view text) { return typed_duration(text, two, TimeUnit::Millisecond); };
  CHECK(typed("4") == 2 * two);
  CHECK(typed(" 4 ms ") == 2 * two);
  CHECK(typed("0") == Ticks{0});
  CHECK(typed("50%") == two / 2);
  CHECK(typed("-10 %") == two * 9 / 10);
  CHECK(typed("+100%") == 2 * two);
  CHECK_FALSE(typed("-1"));
  CHECK_FALSE(typed("-200%"));
  CHECK_FALSE(typed("nan"));
  CHECK_FALSE(typed("long"));
  CHECK_FALSE(typed(""));
  CHECK(typed_duration("4 units", two, TimeUnit::Unit) == 4 * ticks_per(TimeUnit::Unit));
}

TEST_CASE("what has no costs to change says so") {
  Session session;
  const RunPtr measured =
      open_in(session, build_timed_run(run_of(kScene)->timeline, "step 12", "step.jsonl"));
  CHECK_FALSE(session.part<WhatIf>().begin(session, {measured->id, 0}));
  CHECK(session.message.text.find("The times of step 12 were measured or read") == 0);
  CHECK(session.message.kind == MessageKind::Problem);
}

TEST_CASE("a schedule file becomes the configuration under edit") {
  const std::string path = temporary_path("what-if.csv").string();
  std::ofstream(path) << "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n";
  Session session;
  OpenedFile opened = read_run_file(path);
  REQUIRE(opened.run);
  const RunPtr run = open_in(session, opened.run);
  auto& what_if = session.part<WhatIf>();
  REQUIRE(what_if.begin(session, {run->id, find_op(*run, "1/1B0")}));
  what_if.change(session, 3 * kOne, CostScope::Op);
  settle(session);
  what_if.release(session);
  REQUIRE(session.runs.size() == 1);
  CHECK(duration_of(*session.active_run(), "1/1B0") == 3 * kOne);
  CHECK(duration_of(*session.active_run(), "1/1B1") == 2 * kOne);
  CHECK(session.part<ConfigModel>().value("options.file") == path);
  session.part<EditHistory>().undo(session);
  settle(session);
  CHECK(session.active_run()->metrics->makespan == run->metrics->makespan);
}

}  // namespace what_if_test
