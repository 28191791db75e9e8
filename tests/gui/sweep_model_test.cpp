#include "gui/model/panels/sweep_model.hpp"

#include <nlohmann/json.hpp>

#include "gui/model/edit/config_model.hpp"
#include "gui/model/session/command.hpp"
#include "gui/part_state.hpp"
#include "support/catch.hpp"
#include "support/sweep_scenes.hpp"
#include "support/window_scenes.hpp"

namespace sweep_model_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;
using test::table_of;

namespace {

const char* const kScene = R"(
  schedule=gpipe ranks=4 microbatches=8 : makespan=33.0 peak_bytes=8
  schedule=1f1b  ranks=4 microbatches=8 : makespan=33.0 peak_bytes=4
  schedule=zb-h2 ranks=4 microbatches=8 : makespan=27.5 peak_bytes=9
  schedule=gpipe ranks=8 microbatches=8 : makespan=45.0 peak_bytes=8
  schedule=zb-h2 ranks=8 microbatches=8 : illegal no
)";

SweepScene::Table shared(sweep::ResultTable table) {
  return std::make_shared<const sweep::ResultTable>(std::move(table));
}

/// `points` of them on a diagonal: fast ones need more.
SweepScene::Table diagonal(std::size_t points) {
  sweep::Header header;
  header.metrics = {"makespan", "peak_bytes"};
  header.base_json = "{}";
  sweep::ResultTable table(header);
  sweep::ResultLine line;
  line.status = "ok";
  for (std::size_t i = 0; i < points; ++i) {
    line.point = i;
    line.config = {{"costs.forward", std::to_string(i)}};
    line.metrics = {{"makespan", std::to_string(i + 1000)}, {"peak_bytes", std::to_string(2 * points - i)}};
    table.add(line, {});
  }
  return shared(std::move(table));
}

nlohmann::json state(Session& session) {
  return nlohmann::json::parse(state_of(session.part<SweepModel>(), session));
}

}  // namespace

TEST_CASE("few points are dots, and the front is found") {
  const SweepScene scene(shared(table_of({"makespan", "peak_bytes"}, kScene)),
                         {"peak_bytes", "makespan", "", "", "", "", ""});
  CHECK(scene.shown() == 4);
  CHECK(scene.dots().size() == 4);
  CHECK(scene.cells().empty());
  REQUIRE(scene.front().size() == 2);
  CHECK(scene.front()[0].row == 2);
  CHECK(scene.front()[1].row == 1);
  CHECK(scene.question().colour == "schedule");
  CHECK(scene.series() == std::vector<std::string>{"1f1b", "gpipe", "zb-h2"});
  CHECK(scene.front()[0].series == 2);
  REQUIRE(scene.map());
  CHECK(scene.map()->what == "schedule");
}

TEST_CASE("the pointer finds the nearest point, and nothing far from all") {
  const SweepScene scene(shared(table_of({"makespan", "peak_bytes"}, kScene)),
                         {"peak_bytes", "makespan", "", "", "", "", ""});
  const SweepDot dot = scene.dot(3);
  CHECK(scene.hit(static_cast<double>(dot.x) + 0.005, static_cast<double>(dot.y), 0.02, 0.02) ==
        sweep::Row{3});
  CHECK_FALSE(scene.hit(0.5, 0.02, 0.02, 0.02));
  CHECK_FALSE(scene.hit(-3, 7, 0.02, 0.02));
  CHECK(scene.point_text(1) == "1f1b, ranks 4\nmakespan 33.0\npeak_bytes 4 activations\npoint 1");
}

TEST_CASE("many points are cells: all of them are counted, and found one by one") {
  const SweepScene scene(diagonal(20'000), {"peak_bytes", "makespan", "", "", "", "", ""});
  CHECK(scene.dots().empty());
  CHECK(scene.cells().size() <= SweepScene::kColumns * SweepScene::kLines);
  std::size_t points = 0;
  for (const SweepCell& cell : scene.cells()) points += cell.points;
  CHECK(points == 20'000);
  CHECK(scene.front_size() == 20'000);
  CHECK(scene.front().size() == SweepScene::kMaxFront);
  const SweepDot dot = scene.dot(12'345);
  const auto hit = scene.hit(static_cast<double>(dot.x), static_cast<double>(dot.y), 0.01, 0.01);
  REQUIRE(hit);
  // Of the front, which comes first, every 50th point is there.
  CHECK(std::abs(static_cast<int>(*hit) - 12'345) <= 26);
}

TEST_CASE("a result opens, answers commands, and its points become the run under edit") {
  Session session;
  auto& model = session.part<SweepModel>();
  CHECK(state(session).is_null());
  model.show(session, "r.jsonl", shared(table_of({"makespan", "peak_bytes"}, kScene, R"({"chunks":1})")));
  settle(session);
  CHECK(session.panel_open("sweep"));
  CHECK(state(session)["shown"] == 4);
  CHECK(state(session)["y"] == "makespan");
  CHECK(run_command(session, "sweep-where", "ranks == 8"));
  settle(session);
  CHECK(state(session)["shown"] == 1);
  SECTION("a question without an answer leaves the picture") {
    run_command(session, "sweep-x", "peak_byte");
    settle(session);
    CHECK(session.message.kind == MessageKind::Problem);
    CHECK(session.message.text.find("did you mean 'peak_bytes'") != std::string::npos);
    CHECK(state(session)["x"] == "peak_bytes");
    CHECK(state(session)["shown"] == 1);
  }
  SECTION("by its number") {
    run_command(session, "sweep-point", "2");
    CHECK(session.part<ConfigModel>().value("schedule") == "zb-h2");
    CHECK(session.part<ConfigModel>().value("ranks") == "4");
    CHECK(session.part<ConfigModel>().value("chunks") == "1");
    CHECK(state(session)["opened"] == 2);
    run_command(session, "sweep-point", "77");
    CHECK(session.message.text.find("has no point 77") != std::string::npos);
    run_command(session, "undo");
    CHECK(session.part<ConfigModel>().value("schedule") != "zb-h2");
  }
  run_command(session, "close-sweep");
  CHECK(state(session).is_null());
  CHECK_FALSE(session.panel_open("sweep"));
  run_command(session, "sweep-y", "makespan");
  CHECK(session.message.text.find("no sweep is open") != std::string::npos);
}

TEST_CASE("ratios are percent and sizes are short beside the axes, as the metrics' rows say") {
  const SweepScene scene(shared(table_of({"bubble_ratio", "peak_bytes"}, R"(
  schedule=a : bubble_ratio=0.2727 peak_bytes=536870912
  schedule=b : bubble_ratio=0.0559 peak_bytes=1610612736
)",
                                         R"({"memory":{"activation_bytes":1048576}})")),
                         {"peak_bytes", "bubble_ratio", "", "", "", "", ""});
  CHECK(scene.point_text(0) == "a\nbubble_ratio 27.3 %\npeak_bytes 536.9 MB (512.0 MiB)\npoint 0");
  CHECK(scene.point_text(1).find("bubble_ratio 5.6 %") != std::string::npos);
  const auto texts = [](const std::vector<sweep::AxisMark>& marks) {
    std::vector<std::string> out;
    for (const sweep::AxisMark& mark : marks) out.push_back(mark.text);
    return out;
  };
  // Both axes end a little beyond their points, which are half a GiB to one and a half, and 5.59 % to 27.27 %.
  CHECK(texts(scene.x_scale().marks(2)) == std::vector<std::string>{"512 MiB", "1 GiB", "1.5 GiB"});
  CHECK(texts(scene.y_scale().marks(4)) == std::vector<std::string>{"5 %", "10 %", "15 %", "20 %", "25 %"});
}

TEST_CASE("a result without answers is an empty plot, one without numbers says so") {
  const char* const refused = "schedule=a : illegal no\nschedule=b : illegal no";
  const SweepScene empty(shared(table_of({"makespan"}, refused)), {});
  CHECK(empty.shown() == 0);
  CHECK_FALSE(empty.hit(0.5, 0.5, 1, 1));
  CHECK_THROWS_WITH(SweepScene(shared(table_of({}, refused)), {}), Catch::Matchers::Contains("no numbers"));
}

}  // namespace sweep_model_test
