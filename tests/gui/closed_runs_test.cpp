#include "gui/model/panels/closed_runs.hpp"

#include "gui/model/edit/config_model.hpp"
#include "gui/model/edit/schedule_editor.hpp"
#include "gui/model/panels/schedule_table.hpp"
#include "gui/model/session/command.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace closed_runs_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

TEST_CASE("the only run is closed and brought back as it was") {
  Session session;
  const RunPtr run = test::open_in(session, test::run_of("0F0 0B0"));
  session.view.range = {1e8, 2e8};
  run_command(session, "close-run");
  CHECK(session.runs.empty());
  CHECK(session.message.text == "closed scene; Ctrl+Z brings it back");
  run_command(session, "undo");
  REQUIRE(session.runs.size() == 1);
  CHECK(session.runs[0].run == run);
  CHECK(session.view.range == TimeRange{1e8, 2e8});
  run_command(session, "redo");
  CHECK(session.runs.empty());
  run_command(session, "undo");
  CHECK(session.runs.size() == 1);
  run_command(session, "undo");
  CHECK(session.message.text == "there is nothing to undo");
}

TEST_CASE("a run comes back to its place in the stack") {
  Session session;
  std::vector<RunPtr> runs;
  for (int i = 0; i < 3; ++i) {
    runs.push_back(test::run_of("0F0 0B0"));
    session.add_run(runs.back(), i == 1);
  }
  session.active = 1;
  run_command(session, "close-run");
  session.active = 1;
  run_command(session, "close-run");
  REQUIRE(session.runs.size() == 1);
  run_command(session, "undo");
  run_command(session, "undo");
  REQUIRE(session.runs.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(session.runs[i].run == runs[i]);
  CHECK(session.runs[1].compared);
  CHECK(session.active == 1);
}

TEST_CASE("parameters and closed runs are undone in the order in which they were changed") {
  Session session;
  auto& config = session.part<ConfigModel>();
  settle(session);
  session.add_run(test::run_of("0F0 0B0"), true);
  run_command(session, "set", "ranks 3");
  settle(session);
  session.active = 1;
  run_command(session, "close-run");
  run_command(session, "set", "microbatches 5");
  settle(session);
  // The latest step is the configuration's, the one before is not.
  run_command(session, "undo");
  CHECK(config.value("microbatches") == "8");
  CHECK(session.runs.size() == 1);
  run_command(session, "undo");
  CHECK(session.runs.size() == 2);
  CHECK(config.value("ranks") == "3");
  run_command(session, "undo");
  CHECK(config.value("ranks") == "4");
  for (int i = 0; i < 3; ++i) run_command(session, "redo");
  CHECK(config.value("ranks") == "3");
  CHECK(config.value("microbatches") == "5");
  CHECK(session.runs.size() == 1);
}

TEST_CASE("the run under edit comes back, unless the parameters have another one by then") {
  Session session;
  (void)session.part<ConfigModel>();
  settle(session);
  run_command(session, "close-run");
  CHECK(session.runs.empty());
  run_command(session, "undo");
  REQUIRE(session.runs.size() == 1);
  CHECK(session.runs[0].live);

  run_command(session, "close-run");
  run_command(session, "set", "ranks 3");
  settle(session);
  REQUIRE(session.runs.size() == 1);
  run_command(session, "undo");
  settle(session);
  run_command(session, "undo");
  REQUIRE(session.runs.size() == 1);  // never two that the parameters change
  CHECK(session.runs[0].run->ranks() == 4);
}

TEST_CASE("a stacked schedule that comes back follows the parameters again") {
  Session session;
  session.preferences.panels["schedules"] = true;
  (void)session.part<ConfigModel>();
  auto& table = session.part<ScheduleTable>();
  settle(session);
  table.tick(session, "gpipe", true);
  settle(session);
  REQUIRE(session.runs.size() == 2);
  session.active = 1;
  run_command(session, "close-run");
  settle(session);
  CHECK_FALSE(table.ticked("gpipe"));
  run_command(session, "undo");
  CHECK(table.ticked("gpipe"));
  run_command(session, "set", "ranks 3");
  settle(session);
  REQUIRE(session.runs.size() == 2);
  CHECK(session.runs[1].run->ranks() == 3);
}

TEST_CASE("an edit of the queues is undone after what came later") {
  Session session;
  const RunPtr edited = test::open_in(session, test::run_of("0F0 0B0 0F1 0B1"));
  session.add_run(test::run_of("0F0 0B0"), false);
  auto& editor = session.part<ScheduleEditor>();
  run_command(session, "move-op", "0/0F1 1");
  settle(session);
  CHECK(editor.queues().num_edits() == 1);
  session.active = 1;
  run_command(session, "close-run");
  run_command(session, "undo");
  CHECK(session.runs.size() == 2);
  CHECK(editor.can_undo());
  run_command(session, "undo");
  CHECK_FALSE(editor.can_undo());
}

}  // namespace closed_runs_test
