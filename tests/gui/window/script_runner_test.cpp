// Scripts against the whole program, on the null platform: what fails one.

#include "gui/script_runner.hpp"

#include <string>

#include "gui/app.hpp"
#include "gui/model/edit/config_model.hpp"
#include "gui/model/session/command.hpp"
#include "gui/model/session/script.hpp"
#include "support/catch.hpp"

namespace pipeloom::gui::script_runner_test {
namespace {

/// What the program would print of a script; "" where it ends with exit code 0.
std::string failure_of(const std::string& script) {
  const ImGuiScope scope;
  App app(open_null({1280, 720}));
  return run_script(parse_script(script, "walk.script"), host_of(app)).failure;
}

// DualPipe wants an even number of ranks, and twice as many microbatches as ranks: four and twenty are fine.
constexpr const char* kRefused = "set schedule dualpipe\nset microbatches 20\n";

TEST_CASE("a set whose value the schedule refuses fails the script") {
  CHECK(failure_of(kRefused).empty());
  const std::string failure = failure_of(std::string(kRefused) + "set ranks 5\nquit\n");
  CHECK(failure.starts_with("walk.script:3:1: error: "));
  CHECK(failure.find("even") != std::string::npos);
}

TEST_CASE("an expected refusal does not fail the script, and one that is made good is over") {
  CHECK(failure_of(std::string(kRefused) +
                   "expect-error even\nset ranks 5\nset ranks 6\nexpect /message/text == \"\"\n")
            .empty());
}

TEST_CASE("a refusal that was expected and does not come fails the script") {
  CHECK(failure_of("expect-error even\nset ranks 5\n").find("it did not fail") != std::string::npos);
}

TEST_CASE("a run that is too large is refused, and the window goes on") {
  CHECK(failure_of("expect-error the window shows up to\nset ranks 1048576\nexpect /runs/0/ranks == 4\n")
            .empty());
}

TEST_CASE("a long search says how far it is while frames go on, and can be stopped") {
  const ImGuiScope scope;
  App app(open_null({1280, 720}));
  Session& session = app.session();
  // The first frame asks for the example.
  do app.frame();
  while (!session.idle());
  REQUIRE(session.runs.size() == 1);
  // Some seconds of searching, of which a frame sees the first.
  session.part<ConfigModel>().replace(session, {{"schedule", "\"v-adaptive\""},
                                                {"ranks", "64"},
                                                {"microbatches", "1024"},
                                                {"costs.forward", "1"},
                                                {"costs.backward_input", "1.3"},
                                                {"costs.backward_weight", "0.7"}});
  const std::size_t before = app.frames();
  do app.frame();
  while (!session.jobs.progress());
  CHECK(*session.jobs.progress() < 1);
  CHECK(app.frames() > before);
  CHECK(dump_state(app).find("\"progress\": null") == std::string::npos);
  run_command(session, "stop");
  while (!session.jobs.idle()) app.frame();
  CHECK(session.runs.front().run->ranks() == 4);  // the example
}

}  // namespace
}  // namespace pipeloom::gui::script_runner_test
