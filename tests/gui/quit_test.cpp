// The end of the program with an order that was edited by hand.

#include <filesystem>
#include <fstream>
#include <string>

#include "gui/model/commands/features.hpp"
#include "gui/model/edit/config_model.hpp"
#include "gui/model/edit/schedule_editor.hpp"
#include "gui/model/files/quit_question.hpp"
#include "gui/model/session/command.hpp"
#include "gui/model/workspace/workspaces.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/json/file.hpp"
#include "support/catch.hpp"
#include "support/temporary.hpp"
#include "support/window_scenes.hpp"

namespace quit_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

/// A session whose file has an order that was edited.
void edit(Session& session, const std::string& file) {
  std::ofstream(file, std::ios::binary) << "0F0,0F1,,0B0,0B1\n,1F0,1F1,1B0,1B1\n";
  start_features(session);
  run_command(session, "open", file);
  settle(session);
  run_command(session, "move-op", "1/1F1 2");
  settle(session);
  REQUIRE(session.part<ScheduleEditor>().unsaved(session).size() == 1);
}

}  // namespace

TEST_CASE("a session without edits of an order ends at once") {
  Session session;
  start_features(session);
  (void)session.part<ConfigModel>();
  settle(session);
  run_command(session, "set", "ranks 6");
  settle(session);
  run_command(session, "quit");
  CHECK(session.quit);
}

TEST_CASE("an order in no file is asked about, and staying loses nothing") {
  const Folder folder("quit");
  Session session;
  edit(session, folder / "order.csv");
  CHECK(window_title(session) == "* order.csv (edited) - Pipeloom");
  run_command(session, "quit");
  CHECK_FALSE(session.quit);
  auto& question = session.part<QuitQuestion>();
  CHECK(question.asks());
  CHECK(question.title() == "order.csv");
  CHECK(question.path == folder / "order-edited.csv");
  question.stay();
  CHECK_FALSE(session.quit);
  CHECK(session.part<ScheduleEditor>().unsaved(session).size() == 1);
  // An order that was taken back is none that could be lost.
  run_command(session, "undo");
  settle(session);
  run_command(session, "quit");
  CHECK(session.quit);
}

TEST_CASE("saving the order writes a new file, and quits once it is there") {
  const Folder folder("quit");
  Session session;
  const std::string file = folder / "order.csv";
  edit(session, file);
  const std::string before = io::read_file(file);
  run_command(session, "quit");
  auto& question = session.part<QuitQuestion>();
  // A file that is there is refused, and the question stays.
  question.path = file;
  run_command(session, "quit-saving");
  settle(session);
  CHECK_FALSE(session.quit);
  CHECK(question.asks());
  CHECK(question.problem().find("order.csv") != std::string::npos);
  CHECK(io::read_file(file) == before);
  question.path = folder / "mine.csv";
  run_command(session, "quit-saving");
  settle(session);
  CHECK(session.quit);
  const io::Imported saved = io::read_schedule(io::read_file(folder / "mine.csv"), "mine.csv");
  CHECK(queue_line(saved.schedule->queue(Rank(1))) == "1F0 1B0 1F1 1B1");
}

TEST_CASE("discarding the order quits, and no workspace keeps it") {
  const Folder folder("quit");
  Session session;
  edit(session, folder / "order.csv");
  session.part<Workspaces>().keep_last(folder / "last.pipeloom");
  run_command(session, "quit");
  run_command(session, "quit-discarding");
  CHECK(session.quit);
  CHECK(session.part<ScheduleEditor>().unsaved(session).empty());
  session.part<Workspaces>().flush(session);
  CHECK(io::read_file(folder / "last.pipeloom").find("edits") == std::string::npos);
}

TEST_CASE("an order that was saved is asked about again only once it has changed") {
  const Folder folder("quit");
  Session session;
  edit(session, folder / "order.csv");
  run_command(session, "save-schedule", folder / "mine.json");
  settle(session);
  CHECK(session.part<ScheduleEditor>().unsaved(session).empty());
  CHECK(session.part<ScheduleEditor>().saved_to(folder / "mine.json"));
  // Editing ends and goes on.
  run_command(session, "edit-mode");
  CHECK(session.part<ScheduleEditor>().unsaved(session).empty());
  run_command(session, "move-op", "0/0F1 2");
  settle(session);
  CHECK(session.part<ScheduleEditor>().unsaved(session).size() == 1);
  run_command(session, "edit-mode");
  CHECK(session.part<ScheduleEditor>().unsaved(session).size() == 1);
  run_command(session, "quit");
  CHECK_FALSE(session.quit);
}

}  // namespace quit_test
