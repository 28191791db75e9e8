#include "gui/model/answer/snapshots.hpp"

#include "gui/model/chart/chart_words.hpp"
#include "gui/model/edit/schedule_editor.hpp"
#include "gui/model/session/command.hpp"
#include "gui/part_state.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace snapshots_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

/// With 1f1b, p = 4, m = 8, F = 1, B = 2 on screen: 33 units.
void start(Session& session) {
  (void)session.part<ConfigModel>();
  (void)session.part<Snapshots>();
  settle(session);
}

}  // namespace

TEST_CASE("titles say what differs") {
  const Assignments plain = {{"schedule", "\"1f1b\""}, {"ranks", "4"}};
  Assignments blocking = plain;
  blocking["costs.transfer.model"] = "\"blocking\"";
  CHECK(distinct_titles({plain, blocking}) ==
        std::vector<std::string>{"1f1b", "1f1b \u00b7 transfer blocking"});
  CHECK(distinct_titles({plain, plain}) == std::vector<std::string>{"1f1b", "1f1b"});
  Assignments other = plain;
  other["schedule"] = "\"zb-h1\"";
  other["memory.limit_bytes"] = "80";
  CHECK(distinct_titles({plain, other}) == std::vector<std::string>{"1f1b", "zb-h1 \u00b7 limit bytes 80"});
}

TEST_CASE("titles with many differences count the rest") {
  const Assignments many = {{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}, {"e", "5"}};
  CHECK(distinct_titles({{}, many})[1] == "1f1b \u00b7 a 1 \u00b7 b 2 \u00b7 c 3 \u00b7 2 more");
}

TEST_CASE("a snapshot stays below the run under edit, which goes on") {
  Session session;
  start(session);
  const RunPtr before = session.runs.front().run;
  run_command(session, "snapshot");
  settle(session);
  // As long as both are one run, it stands there once.
  CHECK(session.runs.size() == 1);
  run_command(session, "set", "microbatches 16");
  settle(session);
  REQUIRE(session.runs.size() == 2);
  CHECK(session.runs[1].run == before);
  CHECK(session.baseline_run() == &session.runs[1]);
  CHECK(session.runs[0].title() == "1f1b \u00b7 microbatches 16");
  CHECK(session.runs[1].title() == "1f1b");
  // (16 + 3) * 3 = 57 against 33.
  CHECK(badge_text(*session.runs[0].run, before.get())
            .starts_with("57.0 units +72.7 % \u00b7 bubble 15.8 % -11.5"));
  CHECK(badge_text(*before, before.get()).ends_with("baseline"));
  CHECK(change_of(*session.runs[0].run, before.get()) == 1);
  run_command(session, "set", "microbatches 8");
  run_command(session, "set", "costs.forward 0.5");
  settle(session);
  CHECK(session.runs[1].run == before);
}

TEST_CASE("snapshots are restored by name, as a step of undo") {
  Session session;
  start(session);
  run_command(session, "snapshot", "first");
  run_command(session, "set", "ranks 6");
  settle(session);
  run_command(session, "restore", "first");
  settle(session);
  CHECK(session.part<ConfigModel>().value("ranks") == "4");
  run_command(session, "undo");
  settle(session);
  CHECK(session.part<ConfigModel>().value("ranks") == "6");
}

TEST_CASE("what is no snapshot, and names that are taken") {
  Session session;
  start(session);
  run_command(session, "snapshot", "first");
  run_command(session, "snapshot", "first");
  CHECK(session.message.text == "snapshot: error: there is a snapshot 'first'; take another name");
  run_command(session, "restore", "frist");
  CHECK(session.message.text.find("first") != std::string::npos);
  CHECK(session.message.kind == MessageKind::Problem);
}

TEST_CASE("a snapshot that was closed on the chart is still there to be restored") {
  Session session;
  start(session);
  auto& snapshots = session.part<Snapshots>();
  run_command(session, "snapshot", "first");
  run_command(session, "set", "ranks 6");
  settle(session);
  REQUIRE(session.runs.size() == 2);
  session.close_run(1);
  settle(session);
  CHECK(session.runs.size() == 1);
  REQUIRE(snapshots.all().size() == 1);
  CHECK_FALSE(snapshots.all().front().shown);
  snapshots.show(session, "first", true);
  settle(session);
  CHECK(session.runs.size() == 2);
  run_command(session, "remove-snapshot", "first");
  settle(session);
  CHECK(session.runs.size() == 1);
  CHECK(snapshots.all().empty());
  CHECK(session.runs.front().title() == session.runs.front().run->title);
}

namespace {

/// The queue of rank 3 of the run under edit.
std::string live_queue(const Session& session) {
  for (const OpenRun& open : session.runs)
    if (open.live) return queue_line(open.run->schedule->queue(Rank(3)));
  return "";
}

}  // namespace

TEST_CASE("other parameters keep an edited order below, and undo brings it back with its steps") {
  Session session;
  start(session);
  (void)session.part<ScheduleEditor>();
  const std::string before = live_queue(session);
  REQUIRE(before.starts_with("3F0 3B0 3F1"));
  run_command(session, "move-op", "3/3F1 1");
  settle(session);
  const std::string edited = live_queue(session);
  REQUIRE(edited.starts_with("3F0 3F1 3B0"));
  run_command(session, "set", "costs.forward 1.5");
  settle(session);
  // The run of the parameters has the schedule's own order, and the edited one is a snapshot.
  CHECK(live_queue(session) == before);
  REQUIRE(session.part<Snapshots>().all().size() == 1);
  CHECK(session.part<Snapshots>().all().front().name == "1f1b (edited)");
  REQUIRE(session.runs.size() == 2);
  CHECK(queue_line(session.runs[1].run->schedule->queue(Rank(3))) == edited);
  CHECK(session.part<ScheduleEditor>().unsaved(session).size() == 1);
  run_command(session, "undo");
  settle(session);
  CHECK(live_queue(session) == edited);
  CHECK(session.runs.size() == 1);
  CHECK(session.part<Snapshots>().all().empty());
  CHECK(session.part<ConfigModel>().value("costs.forward").empty());
  // Redo and undo once more: the same.
  run_command(session, "redo");
  settle(session);
  CHECK(live_queue(session) == before);
  CHECK(session.runs.size() == 2);
  run_command(session, "undo");
  settle(session);
  CHECK(live_queue(session) == edited);
  run_command(session, "undo");
  settle(session);
  CHECK(live_queue(session) == before);
  CHECK(session.part<ScheduleEditor>().unsaved(session).empty());
}

TEST_CASE("an edited run that is closed comes back with its edits") {
  Session session;
  start(session);
  (void)session.part<ScheduleEditor>();
  run_command(session, "move-op", "3/3F1 1");
  settle(session);
  const std::string edited = live_queue(session);
  run_command(session, "close-run");
  settle(session);
  CHECK(session.runs.empty());
  CHECK(session.part<ScheduleEditor>().unsaved(session).empty());
  run_command(session, "undo");
  settle(session);
  CHECK(live_queue(session) == edited);
  CHECK(session.part<ScheduleEditor>().unsaved(session).size() == 1);
}

TEST_CASE("the state lists snapshots") {
  Session session;
  start(session);
  run_command(session, "snapshot", "first");
  settle(session);
  const std::string state = state_of(session.part<Snapshots>(), session);
  CHECK(state.find(R"("name":"first","step_time":33)") != std::string::npos);
  CHECK(state.find(R"("peak_bytes":4)") != std::string::npos);
}

}  // namespace snapshots_test
