#include "gui/model/config_model.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "gui/model/command.hpp"
#include "sim/io/file.hpp"
#include "study/evaluate.hpp"
#include "support/catch.hpp"

using namespace pipeloom;
using namespace pipeloom::gui;

namespace {

void settle(Session& session) {
  while (!session.idle()) {
    session.update();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Ticks makespan(const Session& session) {
  REQUIRE(session.active_run() != nullptr);
  return session.active_run()->metrics->makespan;
}

constexpr Ticks kUnit = 1'000'000'000;

}  // namespace

TEST_CASE("the first start shows an example") {
  Session session;
  (void)session.part<ConfigModel>();
  settle(session);
  REQUIRE(session.runs.size() == 1);
  CHECK(session.runs[0].live);
  CHECK(makespan(session) == (8 + 4 - 1) * 3 * kUnit);  // (m + p - 1)(F + B)
}

TEST_CASE("an edit is simulated, undone and redone") {
  Session session;
  auto& config = session.part<ConfigModel>();
  settle(session);
  run_command(session, "set", "ranks 8");
  settle(session);
  CHECK(makespan(session) == (8 + 8 - 1) * 3 * kUnit);
  run_command(session, "undo");
  settle(session);
  CHECK(makespan(session) == (8 + 4 - 1) * 3 * kUnit);
  run_command(session, "redo");
  settle(session);
  CHECK(makespan(session) == (8 + 8 - 1) * 3 * kUnit);
  CHECK(config.value("ranks") == "8");
}

TEST_CASE("a drag is one step of undo") {
  Session session;
  auto& config = session.part<ConfigModel>();
  for (const char* value : {"9", "10", "11"}) config.set(session, "microbatches", value);
  config.set(session, "ranks", "5");
  config.undo(session);
  CHECK(config.value("microbatches") == "11");
  config.undo(session);
  CHECK(config.value("microbatches") == "8");
  CHECK_FALSE(config.can_undo());
  settle(session);
}

TEST_CASE("what is refused says why, offers what is legal, and leaves the picture") {
  Session session;
  auto& config = session.part<ConfigModel>();
  config.set(session, "schedule", "dualpipe");
  config.set(session, "microbatches", "20");
  settle(session);
  const auto shown = session.active_run()->id;
  config.set(session, "ranks", "5");  // DualPipe needs an even number
  settle(session);
  CHECK(session.active_run()->id == shown);
  CHECK(config.problem().find("even") != std::string::npos);
  REQUIRE_FALSE(config.fixes().empty());
  for (const Fix& fix : config.fixes()) {
    Assignments tried = config.assignments();
    tried[fix.path] = fix.value;
    CAPTURE(fix.label);
    io::EffectiveConfig effective;
    CHECK(study::make_schedule(config_of(tried), {}, effective) != nullptr);
  }
  CHECK(std::any_of(config.fixes().begin(), config.fixes().end(),
                    [](const Fix& fix) { return fix.label == "ranks 6" || fix.label == "ranks 4"; }));
}

TEST_CASE("values that are no values are refused with their key") {
  Session session;
  auto& config = session.part<ConfigModel>();
  run_command(session, "set", "rankz 8");
  CHECK(session.message.kind == MessageKind::Problem);
  CHECK(session.message.text.find("ranks") != std::string::npos);
  run_command(session, "set", "ranks many");
  settle(session);
  CHECK(config.problem().find("ranks") != std::string::npos);
}

TEST_CASE("a configuration is the same as assignments, text and command line") {
  const io::Document document = io::Document::parse(
      R"({"schedule": "zb-h1", "ranks": 4, "microbatches": 8,
          "costs": {"time_unit": "ms", "forward": [1, 2, 1, 1.250], "transfer": {"latency": 0.1}}})",
      "test");
  const Assignments assignments = assignments_of(document.root());
  CHECK(assignments.at("schedule") == "\"zb-h1\"");
  CHECK(assignments.at("costs.forward") == "[1,2,1,1.250]");
  CHECK(assignments.at("costs.transfer.latency") == "0.1");
  const io::Document again = io::Document::parse(config_text(assignments), "again");
  CHECK(config_of(assignments_of(again.root())).costs.transfer.link.latency ==
        config_of(assignments).costs.transfer.link.latency);
  CHECK(command_line(assignments) ==
        "pipeloom simulate --schedule zb-h1 --ranks 4 --microbatches 8 --set costs.time_unit=ms "
        "--set 'costs.forward=[1,2,1,1.250]' --set costs.transfer.latency=0.1");
}

TEST_CASE("one stage's cost is set in its array") {
  Session session;
  auto& config = session.part<ConfigModel>();
  config.set(session, "costs.backward", "[2, 2, 2, 2]");
  config.set(session, "costs.backward.3", "2.5");
  CHECK(config.value("costs.backward") == "[2,2,2,2.5]");
  config.reset(session, "costs.backward");
  CHECK_FALSE(config.is_set("costs.backward"));
  settle(session);
}

TEST_CASE("a saved configuration is loaded again as it was") {
  Session session;
  auto& config = session.part<ConfigModel>();
  config.set(session, "ranks", "6");
  CHECK(config.unsaved());
  std::string folder = (std::filesystem::temp_directory_path() / "pipeloom_XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/run.json";
  config.save(session, path);
  CHECK_FALSE(config.unsaved());
  config.set(session, "ranks", "7");
  config.load(session, path, io::read_file(path));
  CHECK(config.value("ranks") == "6");
  CHECK(config.file() == path);
  settle(session);
  std::filesystem::remove_all(folder);
}
