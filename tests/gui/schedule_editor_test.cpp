#include "gui/model/edit/schedule_editor.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

#include <pipeloom/schedule.hpp>
#include "gui/model/run/build_run.hpp"
#include "gui/model/session/command.hpp"
#include "gui/part_state.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/json/file.hpp"
#include "study/run/evaluate.hpp"
#include "support/catch.hpp"
#include "support/temporary.hpp"
#include "support/window_scenes.hpp"

namespace schedule_editor_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

constexpr Ticks kUnit = 1'000'000'000;

RunPtr simulated(const std::string& text, const std::string& assignment = "") {
  auto schedule = std::make_shared<const Schedule>(parse_schedule(text));
  io::Document document;
  if (!assignment.empty()) document.set_option(assignment);
  const io::Config config = io::read_run_config(document.root(), io::Needs::CostsOnly);
  return build_run(study::evaluate_schedule(schedule, "test", config), "test", RunSource::ScheduleFile, "");
}

nlohmann::json state(Session& session) {
  return nlohmann::json::parse(state_of(session.part<ScheduleEditor>(), session));
}

/// p = 1, F 1, I 1, W 1: any order takes 6; the memory tells orders apart.
constexpr const char* kOneRank = "0F0 0I0 0W0 0F1 0I1 0W1";
/// p = 2, m = 2, F 1, B 2: rank 0 ends at 8: F0 0-1, F1 1-2, B0 4-6 (1F0 1-2, 1B0 2-4), B1 7-9 (1F1 4-5, 1B1 5-7). Makespan 9.
constexpr const char* kTwoRanks = "0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1";

OpRef ref(const RunPtr& run, int rank, const char* op) {
  const auto queue = run->schedule->queue(Rank(rank));
  for (std::size_t i = 0; i < queue.size(); ++i)
    if (to_text(queue[i].with_joined(false)) == op)
      return {run->id, run->schedule->queue_begin(Rank(rank)) + i};
  FAIL("no such op");
  return {};
}

}  // namespace

TEST_CASE("an edit is simulated and shown in the place of the run, with the difference") {
  Session session;
  session.show_live(simulated(kTwoRanks));
  REQUIRE(session.active_run()->metrics->makespan == 9 * kUnit);
  // Rank 0: F0 0-1, B0 4-6, F1 6-7, B1; rank 1: F0 1-2, B0 2-4, F1 7-8, B1 8-10; so B1 of rank 0 10-12.
  REQUIRE(run_command(session, "move-op", "0/0F1 2"));
  settle(session);
  REQUIRE(session.runs.size() == 1);
  CHECK(session.active_run()->title == "test (edited)");
  CHECK(session.active_run()->metrics->makespan == 12 * kUnit);
  CHECK(queue_text(*session.active_run()->schedule, Rank(0)) == "0F0 0B0 0F1 0B1");
  const auto now = state(session);
  CHECK(now["edits"] == 1);
  CHECK(now["valid"] == true);
  CHECK(now["before"]["makespan"] == 9.0);
  CHECK(now["now"]["makespan"] == 12.0);
  CHECK(now["difference"] == 3.0);
}

TEST_CASE("undoing every edit shows the run from before, as it was") {
  Session session;
  const RunPtr before = simulated(kTwoRanks);
  session.show_live(before);
  run_command(session, "move-op", "0/0F1 2");
  settle(session);
  run_command(session, "move-op-earlier", "0/0F1");
  settle(session);
  CHECK(session.active_run()->metrics->makespan == 9 * kUnit);
  run_command(session, "undo-edit");
  settle(session);
  CHECK(session.active_run()->metrics->makespan == 12 * kUnit);
  run_command(session, "undo-edit");
  settle(session);
  CHECK(session.active_run() == before.get());
  CHECK_FALSE(session.part<ScheduleEditor>().can_undo());
  run_command(session, "redo-edit");
  settle(session);
  CHECK(session.active_run()->metrics->makespan == 12 * kUnit);
  run_command(session, "discard-edits");
  CHECK(session.active_run() == before.get());
  CHECK_FALSE(session.part<ScheduleEditor>().editing());
}

TEST_CASE("edits keep the run's own costs and memory") {
  Session session;
  session.show_live(simulated(kTwoRanks, R"(costs={"forward": 3, "backward": 2})"));
  // F 3, B 2: F0 0-3, F1 3-6, 1F0 3-6, 1B0 6-8, 0B0 8-10, 1F1 8-11, 1B1 11-13, 0B1 13-15.
  REQUIRE(session.active_run()->metrics->makespan == 15 * kUnit);
  run_command(session, "move-op", "0/0F1 2");
  settle(session);
  // 0F0 0-3, 1F0 3-6, 1B0 6-8, 0B0 8-10, 0F1 10-13, 1F1 13-16, 1B1 16-18, 0B1 18-20.
  CHECK(session.active_run()->metrics->makespan == 20 * kUnit);
}

TEST_CASE("without a W the picture stays and the panel says what is missing, until it is back") {
  Session session;
  const RunPtr before = simulated(kOneRank);
  session.show_live(before);
  run_command(session, "delete-weight", "0/0W0");
  settle(session);
  CHECK(session.active_run() == before.get());
  CHECK(state(session)["diagnostics"] == nlohmann::json{"missing-weight"});
  CHECK(state(session)["valid"] == false);
  run_command(session, "insert-weight", "0/0W0 4");
  settle(session);
  CHECK(state(session)["valid"] == true);
  CHECK(queue_text(*session.active_run()->schedule, Rank(0)) == "0F0 0I0 0F1 0I1 0W0 0W1");
}

TEST_CASE("an edit that hangs shows what runs and who waits, and the remedy undoes it") {
  Session session;
  session.show_live(simulated(kTwoRanks));
  // Rank 1 wants F1 first, which rank 0 gives only after B0, which needs rank 1's B0, which stands behind F1.
  run_command(session, "move-op", "0/0F1 2");
  run_command(session, "move-op", "1/1F1 0");
  settle(session);
  const RunModel& hanging = *session.active_run();
  REQUIRE(hanging.hang);
  CHECK(hanging.schedule->num_ops() == 1);  // 0F0
  CHECK(state(session)["hangs"] == true);
  CHECK_FALSE(session.part<ScheduleEditor>().outcome().page.empty());
  run_command(session, "apply-remedy");
  settle(session);
  CHECK_FALSE(session.active_run()->hang);
  CHECK(session.active_run()->metrics);
  CHECK(state(session)["edits"] == 3);
}

TEST_CASE("an op that a hanging run does not reach is dragged among the outlines, and in front of what ran") {
  Session session;
  session.show_live(simulated(kTwoRanks));
  auto& editor = session.part<ScheduleEditor>();
  run_command(session, "move-op", "0/0F1 2");
  run_command(session, "move-op", "1/1F1 0");
  settle(session);
  const std::uint64_t hanging = session.active_run()->id;
  REQUIRE(session.active_run()->hang);
  // Rank 1 runs nothing: outlines from 0 on are 1F1 0-1, 1F0 1-2, 1B0 2-4, 1B1 4-6.
  const Op stuck = forward(Stage(1), Microbatch(1));
  CHECK_FALSE(editor.begin_drag(session, hanging + 1000, Rank(1), stuck));
  REQUIRE(editor.begin_drag(session, hanging, Rank(1), stuck));
  editor.drag_to(session, Rank(1), 0.8 * kUnit);  // in front of 1F0: where it is
  CHECK_FALSE(editor.drag_preview());
  editor.drag_to(session, Rank(1), 60.0 * kUnit);
  REQUIRE(editor.drag_preview());
  CHECK(editor.drag_preview()->op == kUnreached);
  CHECK(editor.drag_preview()->time == 6 * kUnit);
  editor.drag_to(session, Rank(1), 4.5 * kUnit);  // in front of 1B1
  editor.drop(session);
  settle(session);
  CHECK_FALSE(session.active_run()->hang);
  CHECK(queue_text(*session.active_run()->schedule, Rank(1)) == "1F0 1B0 1F1 1B1");
}

TEST_CASE("an op that an edit keeps from running stays selected, and can be moved back") {
  Session session;
  session.show_live(simulated(kTwoRanks));
  session.selection.op = ref(session.runs[0].run, 0, "0B0");
  // 0B0 in front of 0F1 waits for 1B0, which stands behind 1F1 on rank 1, which waits for 0F1.
  run_command(session, "move-op", "1/1F1 0");
  run_command(session, "move-op", "0/0B0 1");
  settle(session);
  REQUIRE(session.active_run()->hang);
  CHECK_FALSE(session.selection.op);
  const std::optional<Op> waiting = waiting_selection(session.selection, session.active_run()->id);
  REQUIRE(waiting);
  CHECK(to_text(*waiting) == "0B0");
  // It is an op of this run: another one that hangs has nothing selected, be it of other stages.
  const auto other = std::make_shared<const Schedule>(parse_schedule("0F0 0B0 0F1 0B1 | 1F1 1F0 1B0 1B1"));
  session.add_run(
      build_hanging_run(other, default_costs(other->placement()), "h", RunSource::ScheduleFile, ""), true);
  session.active = 1;
  CHECK_FALSE(ScheduleEditor::find_selected(session));
  CHECK_THROWS_AS(session.part<ScheduleEditor>().selected(session), InputError);
  session.active = 0;
  REQUIRE(ScheduleEditor::find_selected(session));
  session.close_run(1);
  run_command(session, "move-op-later");
  settle(session);
  REQUIRE_FALSE(session.active_run()->hang);
  REQUIRE(session.selection.op);
  CHECK(*session.selection.op == ref(session.runs[0].run, 0, "0B0"));
  CHECK_FALSE(session.selection.waiting);
}

TEST_CASE("joining two entries runs them together, splitting takes them apart") {
  Session session;
  session.show_live(simulated("0F0 0F1 0B0 0B1"));
  run_command(session, "join-next", "0/0F1");
  settle(session);
  CHECK(session.active_run()->schedule->num_entries() == 3);
  CHECK(state(session)["valid"] == true);
  run_command(session, "split-group", "0/0B0");
  settle(session);
  CHECK(session.active_run()->schedule->num_entries() == 4);
}

TEST_CASE("a drag within the row moves the op in front of what is under the pointer") {
  Session session;
  const RunPtr run = simulated(kTwoRanks);
  session.show_live(run);
  auto& editor = session.part<ScheduleEditor>();
  REQUIRE(editor.begin_drag(session, ref(run, 0, "0F1")));
  CHECK_FALSE(editor.drag_preview());
  editor.drag_to(session, Rank(1), 5.0 * kUnit);  // not its row
  CHECK_FALSE(editor.drag_preview());
  editor.drag_to(session, Rank(0), 1.6 * kUnit);  // behind its own middle, in front of 0B0: where it stands
  CHECK_FALSE(editor.drag_preview());
  editor.drag_to(session, Rank(0),
                 5.5 * kUnit);  // 0B0 is 4-6: behind its middle, in front of 0B1, which starts at 7
  REQUIRE(editor.drag_preview());
  CHECK(editor.drag_preview()->time == 7 * kUnit);
  editor.drop(session);
  settle(session);
  CHECK(queue_text(*session.active_run()->schedule, Rank(0)) == "0F0 0B0 0F1 0B1");
  CHECK_FALSE(editor.dragging());
}

TEST_CASE("a drag to the end of the row goes behind the last op") {
  Session session;
  const RunPtr run = simulated(kOneRank);
  session.show_live(run);
  auto& editor = session.part<ScheduleEditor>();
  REQUIRE(editor.begin_drag(session, ref(run, 0, "0W0")));
  editor.drag_to(session, Rank(0), 60.0 * kUnit);
  REQUIRE(editor.drag_preview());
  CHECK(editor.drag_preview()->time == 6 * kUnit);
  editor.drop(session);
  settle(session);
  CHECK(queue_text(*session.active_run()->schedule, Rank(0)) == "0F0 0I0 0F1 0I1 0W1 0W0");
}

TEST_CASE("what cannot be edited is said, and nothing happens") {
  Session session;
  run_command(session, "edit-mode");
  CHECK(session.message.text == "edit: error: nothing is open; open a schedule or a configuration first");
  session.show_live(simulated(kTwoRanks));
  for (const char* argument : {"", "0/0F1", "0F1 2", "x/0F1 2", "0/0F1 x", "7/0F1 2", "0/0F1 9"}) {
    CAPTURE(argument);
    session.message = {};
    run_command(session, "move-op", argument);
    CHECK(session.message.kind == MessageKind::Problem);
  }
  run_command(session, "move-op-later");
  CHECK(session.message.text ==
        "edit: error: no op is selected; click one of the active run, or name it: RANK/0F7");
  CHECK(session.part<ScheduleEditor>().revision() <= 1);
}

TEST_CASE("the selected op moves with its name, and the ends of the queue hold it") {
  Session session;
  const RunPtr run = simulated(kOneRank);
  session.show_live(run);
  session.selection.op = ref(run, 0, "0W0");
  run_command(session, "move-op-later");
  settle(session);
  CHECK(queue_text(*session.active_run()->schedule, Rank(0)) == "0F0 0I0 0F1 0W0 0I1 0W1");
  REQUIRE(session.selection.op);
  run_command(session, "move-op-later");
  settle(session);
  CHECK(queue_text(*session.active_run()->schedule, Rank(0)) == "0F0 0I0 0F1 0I1 0W0 0W1");
}

TEST_CASE("another run in its place ends the editing") {
  Session session;
  session.show_live(simulated(kTwoRanks));
  run_command(session, "move-op", "0/0F1 2");
  settle(session);
  session.show_live(simulated(kOneRank));
  settle(session);
  CHECK_FALSE(session.part<ScheduleEditor>().editing());
}

TEST_CASE("an edited schedule is saved as JSON and as PyTorch's CSV, and reads back") {
  const auto folder = pipeloom::test::temporary_path("editor");
  std::filesystem::create_directories(folder);
  Session session;
  session.show_live(simulated(kTwoRanks));
  run_command(session, "move-op", "0/0F1 2");
  settle(session);
  for (const char* name : {"edited.json", "edited.csv"}) {
    const std::string path = (folder / name).string();
    run_command(session, "save-schedule", path);
    settle(session);
    CHECK(session.message.text == "saved " + path);
    CHECK(*io::read_schedule(io::read_file(path), path).schedule == *session.active_run()->schedule);
  }
  run_command(session, "save-schedule", (folder / "edited.svg").string());
  settle(session);
  CHECK(session.message.kind == MessageKind::Problem);
  std::filesystem::remove_all(folder);
}

}  // namespace schedule_editor_test
