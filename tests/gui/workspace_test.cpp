#include <filesystem>
#include <fstream>
#include <string>

#include <pipeloom/error.hpp>
#include "gui/model/answer/snapshots.hpp"
#include "gui/model/commands/features.hpp"
#include "gui/model/edit/config_model.hpp"
#include "gui/model/edit/schedule_editor.hpp"
#include "gui/model/files/open_file.hpp"
#include "gui/model/panels/schedule_table.hpp"
#include "gui/model/session/command.hpp"
#include "gui/model/workspace/workspaces.hpp"
#include "gui/part_state.hpp"
#include "sim/io/json/file.hpp"
#include "support/catch.hpp"
#include "support/temporary.hpp"
#include "support/window_scenes.hpp"

namespace workspace_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

void put(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string refusal(const std::string& text) {
  try {
    (void)read_workspace(text, "w.pipeloom");
  } catch (const InputError& error) {
    return error.line();
  }
  return "";
}

/// What a user has after some work: a run under edit, a snapshot, a file, a ticked schedule, marks, and a view of its own.
void work(Session& session, const test::Folder& folder) {
  start_features(session);
  (void)session.part<ConfigModel>();
  settle(session);
  run_command(session, "snapshot", "before");
  run_command(session, "set", "microbatches 16");
  settle(session);
  put(folder / "order.json", R"({"schedule": "gpipe", "ranks": 2, "microbatches": 2})");
  run_command(session, "open-below", folder / "order.json");
  run_command(session, "compare-with", "zb-h1");
  settle(session);
  run_command(session, "zoom-to", "3 12.5");
  run_command(session, "mark", "5");
  run_command(session, "colour", "stage");
  run_command(session, "toggle-critical");
  run_command(session, "collapse-rank", "1");
  run_command(session, "move-rank", "1 0");
  session.preferences.panels["causes"] = true;
  session.active = session.runs.size() - 1;
}

std::vector<std::string> titles(const Session& session) {
  std::vector<std::string> out;
  for (const OpenRun& open : session.runs) out.push_back(open.title());
  return out;
}

}  // namespace

TEST_CASE("a workspace holds everything that stands in the window") {
  const test::Folder folder("workspace");
  const std::string file = folder / "study.pipeloom";
  Session before;
  work(before, folder);
  run_command(before, "save-workspace", file);
  CHECK(before.message.kind == MessageKind::Note);
  REQUIRE(before.runs.size() == 4);

  Session after;
  start_features(after);
  settle(after);
  run_command(after, "open-workspace", file);
  settle(after);
  CHECK(after.message.text == "opened " + file);
  CHECK(after.runs.size() == 4);
  CHECK(titles(after).front() == titles(before).front());
  CHECK(workspace_text(gather(after).workspace, file) == workspace_text(gather(before).workspace, file));
  REQUIRE(after.part<Snapshots>().all().size() == 1);
  const Snapshot& kept = after.part<Snapshots>().all().front();
  CHECK(kept.name == "before");
  // (8 + 3) * 3, as it was; the run under edit is longer.
  CHECK(kept.run->metrics->makespan == 33 * kOne);
  CHECK(after.baseline_run()->run == kept.run);
  CHECK(titles(after)[after.active] == titles(before)[before.active]);
  CHECK(after.active > 0);
  CHECK(after.view.range.start == Approx(3 * static_cast<double>(kOne)));
  CHECK(after.view.range.end == Approx(12.5 * static_cast<double>(kOne)));
  CHECK(after.view.colour == GanttColour::Stage);
  CHECK(after.view.show_critical);
  CHECK(after.view.collapsed == std::set<int>{1});
  CHECK(after.view.order.listed() == std::vector<int>{1, 0});
  REQUIRE(after.marks.size() == 1);
  CHECK(after.marks.front().time == 5 * kOne);
  CHECK(after.part<ScheduleTable>().ticked("zb-h1"));
}

TEST_CASE("a workspace names files from where it lies") {
  const test::Folder folder("moved");
  Workspace workspace;
  workspace.files = {folder / "order.json", "/elsewhere/trace"};
  const std::string text = workspace_text(workspace, folder / "study.pipeloom");
  CHECK(text.find("\"files\": [\"order.json\", \"/elsewhere/trace\"]") != std::string::npos);
  CHECK(read_workspace(text, "/studies/study.pipeloom").files ==
        std::vector<std::string>{"/studies/order.json", "/elsewhere/trace"});
}

TEST_CASE("a file that is gone is said, and the rest of the workspace opens") {
  const test::Folder folder("gone");
  const std::string file = folder / "study.pipeloom";
  Session before;
  work(before, folder);
  run_command(before, "save-workspace", file);
  std::filesystem::remove(folder / "order.json");
  Session after;
  start_features(after);
  run_command(after, "open", file);
  settle(after);
  CHECK(after.message.kind == MessageKind::Problem);
  CHECK(after.message.text.find("order.json") != std::string::npos);
  CHECK(after.runs.size() == 3);
  // It may come back: the workspace still names it.
  run_command(after, "save-workspace");
  CHECK(read_workspace(io::read_file(file), file).files == std::vector<std::string>{folder / "order.json"});
  CHECK(after.part<Snapshots>().all().size() == 1);
}

TEST_CASE("a ticked schedule is the baseline again, and a snapshot that cannot run stays in the file") {
  const test::Folder folder("baseline");
  const std::string file = folder / "study.pipeloom";
  put(file, R"({"pipeloom_workspace": 1, "configuration": {"schedule": "1f1b", "ranks": 4, "microbatches": 8},
    "schedules": ["zb-h1"], "baseline": {"schedule": "zb-h1"},
    "snapshots": [{"name": "odd", "configuration": {"schedule": "dualpipe-v", "ranks": 4, "microbatches": 2}}]})");
  Session session;
  start_features(session);
  settle(session);
  // Twice at once: the first opening gives way.
  run_command(session, "open-workspace", file);
  session.update();
  run_command(session, "open-workspace", file);
  settle(session);
  CHECK(session.message.kind == MessageKind::Problem);
  REQUIRE(session.runs.size() == 2);
  CHECK(session.baseline_run() == &session.runs[1]);
  CHECK(session.part<ScheduleTable>().schedule_of(session.baseline) == "zb-h1");
  run_command(session, "save-workspace");
  const Workspace kept = read_workspace(io::read_file(file), file);
  REQUIRE(kept.snapshots.size() == 1);
  CHECK(kept.snapshots.front().name == "odd");
  CHECK(kept.baseline == RunName{"schedule", "zb-h1"});
}

TEST_CASE("a workspace follows what changes, and a refused one changes nothing") {
  const test::Folder folder("follows");
  const std::string file = folder / "study.pipeloom";
  Session session;
  start_features(session);
  settle(session);
  run_command(session, "save-workspace", file);
  const std::string first = io::read_file(file);
  run_command(session, "save-workspace", file);
  CHECK(io::read_file(file) == first);
  run_command(session, "set", "microbatches 16");
  settle(session);
  session.part<Workspaces>().flush(session);
  CHECK(read_workspace(io::read_file(file), file).configuration->at("microbatches") == "16");
  put(folder / "bad.pipeloom", R"({"pipeloom_workspace": 1, "files": 3})");
  run_command(session, "open-workspace", folder / "bad.pipeloom");
  CHECK(session.message.kind == MessageKind::Problem);
  CHECK(session.message.text.find("bad.pipeloom:1:36") != std::string::npos);
  CHECK(session.part<ConfigModel>().value("microbatches") == "16");
  // Another file is not replaced unasked.
  put(folder / "other.pipeloom", "mine");
  run_command(session, "save-workspace", folder / "other.pipeloom");
  CHECK(session.message.kind == MessageKind::Problem);
  CHECK(io::read_file(folder / "other.pipeloom") == "mine");
  run_command(session, "save-workspace", folder / "other.pipeloom --force");
  CHECK(session.message.kind == MessageKind::Note);
}

TEST_CASE("a workspace that somebody else has written stays as it is until one says so") {
  const test::Folder folder("others");
  const std::string file = folder / "study.pipeloom";
  Session session;
  start_features(session);
  settle(session);
  run_command(session, "save-workspace", file);
  run_command(session, "set", "microbatches 16");
  settle(session);
  session.part<Workspaces>().flush(session);
  const std::string mine = io::read_file(file);
  std::string theirs = mine;
  theirs.replace(theirs.find("\"microbatches\": 16"), 18, "\"microbatches\": 128");
  put(file, theirs);

  // Neither what changes here nor what was open when it is opened again takes its place.
  run_command(session, "set", "microbatches 24");
  settle(session);
  session.part<Workspaces>().flush(session);
  CHECK(io::read_file(file) == theirs);
  CHECK(session.message.kind == MessageKind::Problem);
  CHECK(session.message.text.find("study.pipeloom: error: somebody else has written") != std::string::npos);
  run_command(session, "open-workspace", file);
  settle(session);
  CHECK(session.part<ConfigModel>().value("microbatches") == "128");
  // From then on it follows again.
  run_command(session, "set", "microbatches 24");
  settle(session);
  session.part<Workspaces>().flush(session);
  CHECK(read_workspace(io::read_file(file), file).configuration->at("microbatches") == "24");

  // Saving asks once.
  put(file, theirs);
  run_command(session, "save-workspace");
  CHECK(session.message.kind == MessageKind::Problem);
  CHECK(io::read_file(file) == theirs);
  run_command(session, "save-workspace");
  CHECK(session.message.kind == MessageKind::Note);
  CHECK(read_workspace(io::read_file(file), file).configuration->at("microbatches") == "24");

  // What was removed is written again.
  std::filesystem::remove(file);
  run_command(session, "set", "microbatches 32");
  settle(session);
  session.part<Workspaces>().flush(session);
  CHECK(read_workspace(io::read_file(file), file).configuration->at("microbatches") == "32");
}

TEST_CASE("what the window showed without a name comes back in the next session") {
  const test::Folder folder("last");
  const std::string last = folder / "state/last.pipeloom";
  {
    Session session;
    start_features(session);
    session.part<Workspaces>().keep_last(last);
    (void)session.part<ConfigModel>();
    settle(session);
    run_command(session, "reopen-last");
    CHECK(session.message.kind == MessageKind::Problem);
    session.part<Workspaces>().flush(session);
    // Nobody changed anything.
    CHECK_FALSE(std::filesystem::exists(last));
    run_command(session, "set", "ranks 6");
    settle(session);
    session.part<Workspaces>().flush(session);
  }
  Session session;
  start_features(session);
  session.part<Workspaces>().keep_last(last);
  settle(session);
  run_command(session, "reopen-last");
  settle(session);
  CHECK(session.part<ConfigModel>().value("ranks") == "6");
}

TEST_CASE("an order that was edited by hand comes back with its run and its view") {
  const test::Folder folder("edited");
  const std::string last = folder / "state/last.pipeloom";
  put(folder / "order.csv", "0F0,0F1,,0B0,0B1\n,1F0,1F1,1B0,1B1\n");
  std::string order;
  {
    Session session;
    start_features(session);
    session.part<Workspaces>().keep_last(last);
    (void)session.part<ConfigModel>();
    settle(session);
    run_command(session, "open", folder / "order.csv");
    settle(session);
    run_command(session, "move-op", "1/1F1 2");
    settle(session);
    run_command(session, "edit-mode");  // off: the edited run stays
    run_command(session, "zoom-to", "1 4");
    CHECK(session.part<ScheduleEditor>().unsaved(session).size() == 1);
    REQUIRE(session.part<ScheduleEditor>().edited().size() == 1);
    order = queue_line(session.part<ScheduleEditor>().edited().front().queues.at(1));
    CHECK(order == "1F0 1B0 1F1 1B1");
    session.part<Workspaces>().flush(session);
    const Workspace kept = read_workspace(io::read_file(last), last);
    CHECK(kept.files == std::vector<std::string>{folder / "order.csv"});
    CHECK(kept.edits.front().of == RunName{"file", folder / "order.csv"});
    CHECK(kept.edits.front().queues == std::map<int, std::string>{{1, order}});
    CHECK(read_workspace(workspace_text(kept, last), last).edits.front().queues == kept.edits.front().queues);
  }
  Session session;
  start_features(session);
  session.part<Workspaces>().keep_last(last);
  settle(session);
  run_command(session, "reopen-last");
  settle(session);
  CHECK(session.message.kind == MessageKind::Note);
  const auto edited = session.part<ScheduleEditor>().edited();
  REQUIRE(edited.size() == 1);
  CHECK(edited.front().origin->file == folder / "order.csv");
  CHECK(queue_line(edited.front().queues.at(1)) == order);
  REQUIRE(session.find_run(edited.front().run) != nullptr);
  CHECK(session.find_run(edited.front().run)->title() == "order.csv (edited)");
  CHECK(session.view.range.start == Approx(1 * static_cast<double>(kOne)));
  CHECK(session.view.range.end == Approx(4 * static_cast<double>(kOne)));
  // Undo leads to the file's own order.
  run_command(session, "undo");
  settle(session);
  CHECK(session.part<ScheduleEditor>().edited().empty());
}

TEST_CASE("the edited orders of several runs come back") {
  const test::Folder folder("edited");
  const std::string last = folder / "state/last.pipeloom";
  put(folder / "a.csv", "0F0,0F1,,0B0,0B1\n,1F0,1F1,1B0,1B1\n");
  put(folder / "b.csv", "0F0,0F1,0F2,,0B0,0B1,0B2\n,1F0,1F1,1F2,1B0,1B1,1B2\n");
  const auto orders = [](const Session& session, const ScheduleEditor& editor) {
    std::map<std::string, std::string> out;
    for (const EditedOrder& each : editor.edited()) {
      REQUIRE(session.find_run(each.run) != nullptr);
      out[std::filesystem::path(each.origin->file).filename().string()] =
          queue_line(each.queues.begin()->second);
    }
    return out;
  };
  const std::map<std::string, std::string> wanted = {{"a.csv", "1F0 1B0 1F1 1B1"},
                                                     {"b.csv", "1F0 1B0 1F1 1F2 1B1 1B2"}};
  {
    Session session;
    start_features(session);
    session.part<Workspaces>().keep_last(last);
    (void)session.part<ConfigModel>();
    settle(session);
    run_command(session, "open", folder / "a.csv");
    settle(session);
    run_command(session, "move-op", "1/1F1 2");
    settle(session);
    run_command(session, "open-below", folder / "b.csv");
    settle(session);
    session.active = session.runs.size() - 1;
    run_command(session, "move-op", "1/1B0 1");
    settle(session);
    CHECK(orders(session, session.part<ScheduleEditor>()) == wanted);
    CHECK(session.part<ScheduleEditor>().unsaved(session).size() == 2);
    session.part<Workspaces>().flush(session);
    CHECK(read_workspace(io::read_file(last), last).edits.size() == 2);
  }
  Session session;
  start_features(session);
  session.part<Workspaces>().keep_last(last);
  settle(session);
  run_command(session, "reopen-last");
  settle(session);
  CHECK(session.message.kind == MessageKind::Note);
  CHECK(orders(session, session.part<ScheduleEditor>()) == wanted);
}

TEST_CASE("an order that other parameters took the place of comes back as a snapshot") {
  const test::Folder folder("set-aside");
  const std::string last = folder / "state/last.pipeloom";
  {
    Session session;
    start_features(session);
    session.part<Workspaces>().keep_last(last);
    (void)session.part<ConfigModel>();
    settle(session);
    run_command(session, "move-op", "3/3F1 1");
    settle(session);
    run_command(session, "set", "costs.forward 1.5");
    settle(session);
    session.part<Workspaces>().flush(session);
  }
  Session session;
  start_features(session);
  session.part<Workspaces>().keep_last(last);
  settle(session);
  run_command(session, "reopen-last");
  settle(session);
  CHECK(session.part<ConfigModel>().value("costs.forward") == "1.5");
  REQUIRE(session.part<Snapshots>().all().size() == 1);
  const Snapshot& kept = session.part<Snapshots>().all().front();
  CHECK(kept.name == "1f1b (edited)");
  CHECK(queue_line(kept.run->schedule->queue(Rank(3))).starts_with("3F0 3F1 3B0"));
}

TEST_CASE("a file that was opened is kept for the next session without an edit") {
  const test::Folder folder("opened");
  const std::string last = folder / "state/last.pipeloom";
  put(folder / "order.csv", "0F0,0F1,,0B0,0B1\n,1F0,1F1,1B0,1B1\n");
  Session session;
  start_features(session);
  session.part<Workspaces>().keep_last(last);
  session.part<FileOpener>().open_named({folder / "order.csv"});
  settle(session);
  session.part<Workspaces>().flush(session);
  REQUIRE(std::filesystem::exists(last));
  CHECK(read_workspace(io::read_file(last), last).files == std::vector<std::string>{folder / "order.csv"});
}

TEST_CASE("edits that no longer fit their file are said, and the file opens") {
  const test::Folder folder("unfit");
  put(folder / "order.csv", "0F0,0F1,,0B0,0B1\n,1F0,1F1,1B0,1B1\n");
  put(folder / "w.pipeloom", R"({"pipeloom_workspace": 1, "files": ["order.csv"],
    "edits": {"of": {"file": "order.csv"}, "queues": [{"rank": 1, "queue": "1F0 1F1 1F2"}]}})");
  Session session;
  start_features(session);
  settle(session);
  run_command(session, "open-workspace", folder / "w.pipeloom");
  settle(session);
  CHECK(session.message.kind == MessageKind::Problem);
  CHECK(session.message.text.find("edit of rank 1") != std::string::npos);
  CHECK(session.runs.size() == 1);
}

TEST_CASE("what is no workspace is refused with its place") {
  CHECK(refusal("[]").find("w.pipeloom:1:1: error: it is no workspace") == 0);
  CHECK(refusal(R"({"pipeloom_workspace": 2})").find("w.pipeloom:1:24") == 0);
  CHECK(refusal(R"({"pipeloom_workspace": 1, "runs": []})").find("unknown key of a workspace 'runs'") !=
        std::string::npos);
  CHECK(refusal(R"({"pipeloom_workspace": 1, "configuration": {"rank": 4}})").find("1:45") !=
        std::string::npos);
  CHECK(refusal(R"({"pipeloom_workspace": 1, "snapshots": [{"name": "a"}, {"name": "a"}]})")
            .find("no other one has") != std::string::npos);
  CHECK(refusal(R"({"pipeloom_workspace": 1, "range": [3, 2]})").find("must end after it starts") !=
        std::string::npos);
  CHECK(refusal(R"({"pipeloom_workspace": 1, "view": {"rank_order": [1, 1]}})")
            .find("1:50: error: rank_order must have") != std::string::npos);
  CHECK(refusal(R"({"pipeloom_workspace": 1, "view": {"colour": "red"}})")
            .find("kind, chunk, stage, microbatch, slack") != std::string::npos);
  CHECK(refusal(R"({"pipeloom_workspace": 1, "view": {"pinned": [1.5]}})").find("whole number from 0") !=
        std::string::npos);
  CHECK(refusal(R"({"pipeloom_workspace": 1, "marks": [{"time": -1}]})").find("must not be negative") !=
        std::string::npos);
  CHECK(refusal(R"({"pipeloom_workspace": 1, "baseline": {"run": "a"}})").find("snapshot, file, schedule") !=
        std::string::npos);
  CHECK(refusal(R"({"pipeloom_workspace": 1, "time_unit": "h"})").find("time unit") != std::string::npos);
  CHECK(refusal("{\"pipeloom_workspace\": 1").find("w.pipeloom:1:") == 0);
}

TEST_CASE("a snapshot is called otherwise") {
  Session session;
  start_features(session);
  (void)session.part<ConfigModel>();
  settle(session);
  run_command(session, "snapshot", "a=b");
  run_command(session, "rename-snapshot", "a=b=best so far");
  CHECK(session.part<Snapshots>().all().front().name == "best so far");
  run_command(session, "rename-snapshot", "worst=x");
  CHECK(session.message.text.find("unknown snapshot 'worst'") != std::string::npos);
  run_command(session, "rename-snapshot", "best so far=");
  CHECK(session.message.kind == MessageKind::Problem);
}

}  // namespace workspace_test
