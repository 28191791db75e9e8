#include "gui/model/session/session.hpp"

#include "gui/model/session/command.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace session_test {

using namespace pipeloom;
using namespace pipeloom::gui;

TEST_CASE("a command that cannot run says why in the status line") {
  Session session;
  CHECK(run_command(session, "scale", "9"));
  CHECK(session.message.kind == MessageKind::Problem);
  CHECK(session.message.text == "scale: error: found '9'; allowed is a factor from 0.5 to 4");
  CHECK(run_command(session, "scale", "2"));
  CHECK(session.preferences.scale == 2);
  CHECK_FALSE(run_command(session, "no-such-command"));
}

TEST_CASE("a panel is open as it was at first until the user says otherwise") {
  Session session;
  session.panel_defaults = {{"params", true}, {"edit", false}};
  CHECK(session.panel_open("params"));
  CHECK_FALSE(session.panel_open("edit"));
  CHECK(run_command(session, "toggle-panel", "edit"));
  CHECK(session.panel_open("edit"));
  CHECK(run_command(session, "toggle-panel", "edits"));
  CHECK(session.message.text.find("edit") != std::string::npos);
  CHECK(session.message.kind == MessageKind::Problem);
}

TEST_CASE("the theme toggles, or is set by name") {
  Session session;
  const bool dark = session.preferences.dark;
  run_command(session, "theme");
  CHECK(session.preferences.dark == !dark);
  run_command(session, "theme", "light");
  CHECK_FALSE(session.preferences.dark);
  run_command(session, "theme", "blue");
  CHECK(session.message.kind == MessageKind::Problem);
}

TEST_CASE("a selection does not outlive the run that it points into") {
  Session session;
  session.add_run(test::run_of("0F0 0B0"), false);
  const std::uint64_t id = session.runs[0].run->id;
  session.selection.op = OpRef{id, 1};
  session.selection.hover = OpRef{id, 0};
  session.active = 0;
  session.update();
  CHECK(session.selection.op);
  session.runs[0].run = test::run_of("0F0 0B0");  // as a job does that read a file again
  session.update();
  CHECK_FALSE(session.selection.op);
  CHECK_FALSE(session.selection.hover);
  run_command(session, "next-op");  // begins anew
  CHECK(session.selection.op);
}

}  // namespace session_test
