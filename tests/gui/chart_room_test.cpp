// What stands in the chart beside ops: idle time, headings, ends.

#include <pipeloom/metrics.hpp>
#include "gui/chart_scene.hpp"
#include "gui/model/chart/chart_colours.hpp"
#include "gui/model/chart/chart_words.hpp"
#include "gui/model/chart/op_walk.hpp"
#include "gui/model/chart/pressed_rank.hpp"
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

TEST_CASE("the memory of the rank that it presses most stands under the rows", "[chart]") {
  auto run = std::make_shared<RunModel>(*run_of(kScene));
  MemoryModel memory = default_memory(run->schedule->placement());
  constexpr Bytes kActivation = 1'500'000'000;
  memory.activation.assign(memory.activation.size(), kActivation);
  memory.limit.assign(static_cast<std::size_t>(run->schedule->ranks()), 2 * kActivation);
  run->memory = std::make_shared<const MemoryModel>(std::move(memory));
  run->metrics.emplace();
  run->metrics->ranks.resize(2);
  run->metrics->ranks[0].memory.peak_bytes = 2 * kActivation;
  run->metrics->ranks[1].memory.peak_bytes = kActivation;
  index_run(*run);
  Chart chart(run);
  chart.draw();
  const Box box = chart.layout.memory;
  CHECK(box.y1 == 600);
  CHECK(chart.labels("memory") == 1);
  CHECK(chart.label("rank 0")->y < box.y0);  // the row's own name
  CHECK(chart.labels("rank 0") == 2);
  CHECK(chart.labels("limit 3.0 GB") == 1);
  // Two activations from 1 to 6, the whole scale is 1.12 of the limit: the line is at its foot.
  const double top = std::round(box.y1 - box.height() / 1.12);
  CHECK(chart.colour_at(kX + 305, top + 1) == make_ink(true).accent);
  CHECK(chart.colour_at(kX + 305, top - 3) == 0);
  CHECK(chart.colour_at(kX + 805, top + 1) != make_ink(true).accent);

  // The selected rank instead; what is held under the pointer: 1B0 runs at 3.
  chart.session.selection.op = OpRef{chart.run->id, find_op(*chart.run, "1B0")};
  chart_pointer(chart.session, chart.layout,
                {.type = ChartPointer::Type::Move, .x = kX + 300, .y = box.y0 + 5});
  chart.draw();
  CHECK(chart.labels("rank 1") == 2);
  const auto held = [&](const ChartLabel& one) { return chart.list.text_of(one) == "1.5 GB"; };
  CHECK(std::count_if(chart.list.front_labels.begin(), chart.list.front_labels.end(), held) == 1);

  chart.session.view.show_memory_track = false;
  chart.draw();
  CHECK(chart.layout.memory.empty());
  CHECK(chart.labels("memory") == 0);
}

TEST_CASE("what is held has its unit", "[chart]") {
  const MemoryModel memory = default_memory(Placement::linear(2));
  CHECK(held_text(memory, 1) == "1 activation");
  CHECK(held_text(memory, 8) == "8 activations");
}

TEST_CASE("folded ranks share a name, and have room for it", "[chart]") {
  Chart chart(kScene);
  chart.session.view.collapsed = {0, 1};
  chart.draw();
  CHECK(chart.labels("ranks 0-1") == 1);
  CHECK(chart.layout.rows[1].all.bottom() - chart.layout.rows[0].all.y >= 14);
  chart.session.view.collapsed = {0};
  chart.draw();
  CHECK(chart.labels("ranks 0-1") == 0);
  CHECK(chart.labels("rank 0") == 1);
  CHECK(chart.layout.rows[0].all.height >= 14);
}

TEST_CASE("the legend explains shades, tints and outlines", "[chart]") {
  // Two chunks of one rank each.
  Chart chart("0F0 2F0 2B0 0B0 | 1F0 3F0 3B0 1B0");
  chart.draw();
  CHECK(chart.labels("chunk 1 darker") == 1);
  CHECK(chart.labels("critical path") == 0);
  chart.session.view.show_critical = true;
  chart.session.view.show_idle = true;
  chart.draw();
  CHECK(chart.labels("critical path") == 1);
  CHECK(chart.labels("cooldown") >= 1);
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
