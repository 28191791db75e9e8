#include "gui/model/panels/problems.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <pipeloom/schedule.hpp>
#include "gui/model/edit/schedule_editor.hpp"
#include "gui/model/session/command.hpp"
#include "study/run/evaluate.hpp"
#include "support/catch.hpp"
#include "support/temporary.hpp"
#include "support/window_scenes.hpp"

namespace problems_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

/// Rank 0 stands at 0B0 and waits for 1B0; rank 1 stands at 1F1 and waits for 0F1, which comes behind 0B0.
constexpr const char* kHanging = "0F0 0B0 0F1 0B1 | 1F1 1F0 1B0 1B1";
constexpr const char* kHangingCsv = "0F0,0B0,0F1,0B1\n1F1,1F0,1B0,1B1\n";

struct File {
  std::string path;
  File(const char* name, const std::string& text) : path(pipeloom::test::temporary_path(name).string()) {
    std::ofstream(path) << text;
  }
  ~File() { std::filesystem::remove(path); }
};

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a schedule that hangs: who waits for whom, the steps before, and what would help") {
  const ProblemReport report = examine_schedule(parse_schedule(kHanging), "", "");
  REQUIRE(report.problems.size() == 1);
  CHECK(report.problems[0].code == "hang");
  REQUIRE(report.waits.size() == 2);
  CHECK(report.waits[0] == "rank 0 is blocked at 0B0 and waits for 1B0 of rank 1, which");
  CHECK(report.waits[1] == "rank 1 is blocked at 1F1 and waits for 0F1 of rank 0: the cycle closes");
  CHECK(report.cycle == std::vector<Rank>{Rank(0), Rank(1)});
  REQUIRE(report.grid);
  CHECK(report.grid->cells.back() == std::vector<std::string>{"0B0", "1F1"});
  // One place is enough on either rank: 0F1 in front of 0B0, or 1F1 behind 1F0 (then 1B0 still stands behind it, and 0F1 behind 0B0).
  REQUIRE_FALSE(report.repairs.empty());
  CHECK(report.repairs.size() <= kMostRepairs);
  CHECK(std::ranges::any_of(report.repairs, [](const Repair& repair) {
    return repair.words[0] == "on rank 0, move 0F1 from position 2 to 1, in front of 0B0";
  }));
  // Each was simulated, and the shortest step comes first.
  for (const Repair& repair : report.repairs) REQUIRE(repair.step);
  CHECK(std::ranges::is_sorted(report.repairs, {}, [](const Repair& repair) { return *repair.step; }));
}

TEST_CASE("a schedule that is none names what is missing and where things stand") {
  const ProblemReport report = examine_schedule(parse_schedule("0F0 0I0 0I1 0F1 0W1"), "", "");
  REQUIRE(report.problems.size() == 2);
  for (const Problem& problem : report.problems) {
    if (problem.code == "missing-weight") {
      CHECK(problem.rank == Rank(0));
      CHECK_FALSE(problem.op);
    } else {
      CHECK(problem.code == "backward-before-forward");
      CHECK(problem.op == backward_input(Stage(0), Microbatch(1)));
      CHECK(problem.slot == 2);
    }
  }
  CHECK(report.errors() == 2);
  CHECK(report.waits.empty());
}

TEST_CASE("a schedule that runs has no problems") {
  CHECK(examine_schedule(parse_schedule("0F0 0B0"), "", "").problems.empty());
}

TEST_CASE("a PyTorch file that hangs: the place in the file, and what PyTorch says") {
  const File file("pipeloom-problems.csv", kHangingCsv);
  const ProblemReport report = examine_file(file.path);
  REQUIRE(report.problems.size() == 1);
  CHECK(report.problems[0].code == "hang");
  CHECK(holds(report.problems[0].place, file.path + ":"));
  CHECK(report.waits.size() == 2);
  CHECK(holds(report.page, "PyTorch legacy, 2.10, 2.13, 2.14, 2.15: refuses it"));
}

TEST_CASE("a lowered PyTorch file whose messages never meet") {
  const File file("pipeloom-problems.csv", "0RECV_B0,0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n");
  const ProblemReport report = examine_file(file.path);
  REQUIRE(report.problems.size() >= 1);
  CHECK(report.problems.back().code == "message-order");
  CHECK(holds(report.page, "nothing can start"));
  CHECK(holds(report.page, "PyTorch legacy, 2.10, 2.13, 2.14: loads it"));
}

TEST_CASE("files that nobody can read say where") {
  const File csv("pipeloom-problems.csv", "0F0,0X0\n");
  const ProblemReport bad = examine_file(csv.path);
  REQUIRE(bad.problems.size() == 1);
  CHECK(bad.problems[0].code == "unreadable");
  CHECK(holds(bad.problems[0].place, ":1:5"));
  CHECK(examine_file("/nonexistent/file.csv").problems[0].code == "unreadable");
}

TEST_CASE("a configuration that is refused") {
  const File file("pipeloom-problems.json", R"({"schedule": "dualpipe", "ranks": 3, "microbatches": 8})");
  const ProblemReport report = examine_file(file.path);
  REQUIRE(report.problems.size() == 1);
  CHECK(report.problems[0].code == "refused");
  const File fine("pipeloom-problems.json", R"({"schedule": "1f1b", "ranks": 2, "microbatches": 4})");
  CHECK(examine_file(fine.path).problems.empty());
}

TEST_CASE("over the memory limit, with the op that goes over it") {
  io::Document document;
  document.set_option("memory.limit_bytes=1");
  const auto config = io::read_run_config(document.root(), io::Needs::CostsOnly);
  auto schedule = std::make_shared<const Schedule>(parse_schedule("0F0 0F1 0B0 0B1"));
  const RunPtr run =
      build_run(study::evaluate_schedule(schedule, "x", config), "x", RunSource::ScheduleFile, "");
  const ProblemReport report = examine_run(*run);
  REQUIRE(report.problems.size() == 1);
  CHECK(report.problems[0].code == "over-limit");
  CHECK(report.problems[0].op == forward(Stage(0), Microbatch(1)));
}

TEST_CASE("the panel follows the active run, and a click selects the op") {
  Session session;
  auto schedule = std::make_shared<const Schedule>(parse_schedule(kHanging));
  session.show_live(
      build_hanging_run(schedule, default_costs(schedule->placement()), "h", RunSource::ScheduleFile, ""));
  auto& problems = session.part<Problems>();
  settle(session);
  REQUIRE(problems.report().problems.size() == 1);
  const auto before = problems.revision();
  session.show_live(test::run_of("0F0 0B0"));
  settle(session);
  CHECK(problems.report().problems.empty());
  CHECK(problems.revision() > before);
}

TEST_CASE("edits are examined as they are, picture or not") {
  Session session;
  session.show_live(test::run_of("0F0 0I0 0W0 0F1 0I1 0W1"));
  auto& problems = session.part<Problems>();
  run_command(session, "delete-weight", "0/0W1");
  settle(session);
  REQUIRE(problems.report().problems.size() == 1);
  CHECK(problems.report().problems[0].code == "missing-weight");
  run_command(session, "undo-edit");
  settle(session);
  CHECK(problems.report().problems.empty());
  // 0I1 in front of 0F1: a click on the problem selects the op in the last picture.
  run_command(session, "move-op", "0/0I1 3");
  settle(session);
  REQUIRE(problems.report().problems.size() == 1);
  CHECK(problems.report().problems[0].code == "backward-before-forward");
  REQUIRE(problems.select(session, 0));
  CHECK(session.selection.op->op == 4);  // where the picture from before the edit has it
}

}  // namespace problems_test
