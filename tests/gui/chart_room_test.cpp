// What stands in the chart beside ops: idle time, headings, ends.

#include <pipeloom/metrics.hpp>
#include "gui/chart_scene.hpp"
#include "gui/model/chart/chart_colours.hpp"
#include "gui/model/chart/chart_words.hpp"
#include "gui/model/edit/chart_pointer.hpp"
#include "support/catch.hpp"

namespace chart_room_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

TEST_CASE("a gap has its word where it is selected or pointed at", "[chart]") {
  Chart chart(kScene);
  // 40 pixels a unit: the gap of rank 0 from 2 to 4 is 80 wide, too little for a word of its own.
  chart.session.view.range = {0, 22.5 * kOne};
  chart.draw();
  CHECK(chart.labels("warmup") == 0);
  chart.session.selection.gap = GapRef{chart.run->id, Rank(0), 0};
  chart.draw();
  // "warmup · 2 units" needs 112: the cause alone.
  REQUIRE(chart.label("warmup") != nullptr);
  CHECK(chart.label("warmup")->colour == make_ink(true).accent);
  chart.session.selection.clear();
  chart.session.view.range = {0, 15.0 * kOne};
  chart.draw();
  CHECK(chart.labels("warmup") == 0);
  chart_pointer(chart.session, chart.layout, {.type = ChartPointer::Type::Move, .x = kX + 180, .y = kY + 5});
  chart.draw();
  CHECK(chart.labels("warmup \u00b7 2 units") == 1);
  // And an outline from 120 to 240.
  const auto outlined = [&](const ChartOutline& one) { return one.x0 == kX + 120 && one.x1 == kX + 240; };
  CHECK(std::count_if(chart.list.outlines.begin(), chart.list.outlines.end(), outlined) == 1);
}

TEST_CASE("gaps are tinted by their cause when asked for", "[chart]") {
  Chart chart(kScene);
  chart.session.view.show_idle = true;
  chart.draw();
  CHECK(chart.ground_at(kX + 300, kY + 5) ==
        rgba(gap_colour("default", draw::Theme::Dark, IdleCause::Warmup)));
}

TEST_CASE("stacked runs have a dot, a name and a shape each", "[chart]") {
  auto first = std::make_shared<RunModel>(*run_of(kScene));
  first->title = "1f1b p=2 m=2";
  index_run(*first);
  Chart chart(first);
  open_in(chart.session, run_of(kScene));
  chart.draw();
  CHECK(chart.labels("1f1b") == 1);
  CHECK(chart.labels("scene") == 1);
  CHECK(chart.labels("p 2 \u00b7 m 2") == 2);
  REQUIRE(chart.list.dots.size() == 2);
  // The first one is the baseline as long as none is named: grey; the other has the accent.
  CHECK(chart.list.dots[0].colour == make_ink(true).muted);
  CHECK(chart.list.dots[1].colour == make_ink(true).accent);
}

TEST_CASE("a dashed line stands where a run is over", "[chart]") {
  Chart chart(kScene);
  chart.session.view.range = {0, 18.0 * kOne};
  chart.draw();
  // 50 pixels a unit: 9 units.
  const auto dash = [](const ChartQuad& quad) { return quad.x0 == kX + 450 && quad.x1 == kX + 451; };
  CHECK(std::count_if(chart.list.front.begin(), chart.list.front.end(), dash) > 5);
}

TEST_CASE("a heading says the shape once", "[chart]") {
  const RunPtr run = run_of(kScene);
  CHECK(heading_of(*run, "1f1b p=2 m=2").name == "1f1b");
  CHECK(heading_of(*run, "orders.csv").name == "orders.csv");
  CHECK(heading_of(*run, "1f1b p=2 m=2 (edited)").name == "1f1b (edited)");
  CHECK(heading_of(*run, "orders.csv").shape == "p 2 \u00b7 m 2");
}

TEST_CASE("widths of letters beyond ASCII", "[chart]") {
  ChartFont font;
  font.advance.fill(7);
  font.advance[0xB7] = 3;
  font.advance['m'] = 11;
  CHECK(font.width("a \u00b7 b") == 4 * 7 + 3);
  CHECK(font.width("\u2026") == 11);
}

}  // namespace chart_room_test
