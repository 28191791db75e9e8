#include <set>
#include <string>

#include "gui/model/chart/chart_part.hpp"
#include "gui/model/session/command.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace view_commands_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

/// Four ranks, one op each.
struct Scene {
  Session session;
  RunPtr run = open_in(session, run_of("0F0 | 1F0 | 2F0 | 3F0"));
  ViewState& view = session.view;
  void run_it(const char* command, const char* argument = "") {
    session.message = {};
    REQUIRE(run_command(session, command, argument));
  }
  [[nodiscard]] bool refused(const char* part) const {
    return session.message.kind == MessageKind::Problem &&
           session.message.text.find(part) != std::string::npos;
  }
};

}  // namespace

TEST_CASE("colours by name, or one after the other") {
  Scene scene;
  scene.run_it("colour", "slack");
  CHECK(scene.view.colour == GanttColour::Slack);
  scene.run_it("colour");
  CHECK(scene.view.colour == GanttColour::Kind);
  scene.run_it("colour");
  CHECK(scene.view.colour == GanttColour::Chunk);
  scene.run_it("colour", "chunks");
  CHECK(scene.refused("chunk"));
  CHECK(scene.view.colour == GanttColour::Chunk);
}

TEST_CASE("kinds are hidden and shown by their letter") {
  Scene scene;
  scene.run_it("hide-kind", "B");
  scene.run_it("hide-kind", "W");
  CHECK(scene.view.hidden_kinds ==
        (1U << index_of(OpKind::Backward) | 1U << index_of(OpKind::BackwardWeight)));
  scene.run_it("hide-kind", "B");
  CHECK(scene.view.hidden_kinds == 1U << index_of(OpKind::BackwardWeight));
  scene.run_it("hide-kind", "b");
  CHECK(scene.refused("F, B, I, W, R, O, L, S or T"));
  scene.run_it("show-all-kinds");
  CHECK(scene.view.hidden_kinds == 0);
}

TEST_CASE("ranks are filtered by numbers and stretches of them") {
  Scene scene;
  scene.run_it("filter-ranks", "0-1,3");
  CHECK(scene.view.hidden == std::set<int>{2});
  scene.run_it("filter-ranks", "2");
  CHECK(scene.view.hidden == std::set<int>{0, 1, 3});
  for (const char* wrong : {"", "4", "1-", "-1", "3-1", "0,x", "0-9"}) {
    scene.run_it("filter-ranks", wrong);
    CHECK(scene.session.message.kind == MessageKind::Problem);
    CHECK(scene.view.hidden == std::set<int>{0, 1, 3});
  }
  CHECK(scene.refused("all below 4"));
  scene.run_it("show-all-ranks");
  CHECK(scene.view.hidden.empty());
}

TEST_CASE("ranks are pinned and folded by number, or where the selection is") {
  Scene scene;
  scene.run_it("pin-rank", "3");
  CHECK(scene.view.pinned == std::set<int>{3});
  scene.run_it("pin-rank");
  CHECK(scene.refused("nothing is selected"));
  scene.run_it("select-op", "1/1F0");
  scene.run_it("pin-rank");
  scene.run_it("collapse-rank");
  CHECK(scene.view.pinned == std::set<int>{1, 3});
  CHECK(scene.view.collapsed == std::set<int>{1});
  scene.run_it("collapse-rank", "4");
  CHECK(scene.refused("a rank below 4"));
}

TEST_CASE("rows grow from what they are, within limits, 0 fits all") {
  Scene scene;
  scene.run_it("row-height", "40");
  scene.run_it("taller-rows");
  CHECK(scene.view.row_height == 50);
  for (int i = 0; i < 20; ++i) scene.run_it("taller-rows");
  CHECK(scene.view.row_height == 120);
  for (int i = 0; i < 40; ++i) scene.run_it("lower-rows");
  CHECK(scene.view.row_height == 2);
  scene.run_it("row-height", "0");
  CHECK(scene.view.row_height == 0);
  // From the height that the chart chose.
  ChartLayout& layout = scene.session.part<ChartPart>().layout;
  lay_out_chart(scene.session, {0, 0, 800, 600}, 2, layout);
  const double chosen = layout.rows[0].lane(ChartLane::Work).height / 2;
  scene.run_it("taller-rows");
  CHECK(scene.view.row_height == chosen * 1.25);
}

TEST_CASE("switches switch") {
  Scene scene;
  ViewState& view = scene.view;
  const ViewState before = view;
  for (const char* command : {"toggle-critical", "toggle-idle", "toggle-memory", "toggle-messages",
                              "toggle-copies", "toggle-arrows", "toggle-minimap", "toggle-overview"})
    scene.run_it(command);
  CHECK(view.show_critical != before.show_critical);
  CHECK(view.show_idle != before.show_idle);
  CHECK(view.show_memory != before.show_memory);
  CHECK(view.show_messages != before.show_messages);
  CHECK(view.show_copies != before.show_copies);
  CHECK(view.show_arrows != before.show_arrows);
  CHECK(view.show_minimap != before.show_minimap);
  CHECK(view.show_overview != before.show_overview);
}

TEST_CASE("no two commands answer to the same keys") {
  for (const Command& command : all_commands())
    for (const Chord& chord : command.keys) {
      INFO(command.id << " " << to_text(chord));
      CHECK(command_of(chord) == &command);
    }
}

}  // namespace view_commands_test
