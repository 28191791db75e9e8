#include "gui/model/edit/chart_pointer.hpp"

#include <cmath>

#include "gui/model/chart/chart_part.hpp"
#include "gui/model/chart/navigation.hpp"
#include "gui/model/chart/op_walk.hpp"
#include "gui/model/edit/schedule_editor.hpp"
#include "gui/model/session/command.hpp"
#include "sim/kinds.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace chart_pointer_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

using Type = ChartPointer::Type;

struct Held {
  bool ctrl = false;
  bool shift = false;
  bool alt = false;
};

/// A chart of 1000 x 600 pixels and a mouse.
struct Chart {
  Session session;
  RunPtr run = open_in(session, run_of(kScene));
  double x = 0;
  double y = 0;

  Chart() {
    session.part<Navigation>().now = [] { return 0.0; };
  }
  [[nodiscard]] const ChartLayout& layout() {
    lay_out_chart(session, {0, 0, 1000, 600}, 1, session.part<ChartPart>().layout);
    return session.part<ChartPart>().layout;
  }
  void send(Type type, Held held = {}, MouseButton button = MouseButton::Left, double wheel = 0) {
    ChartPointer event{type, x, y, button, held.ctrl, held.shift, held.alt, 0, wheel};
    chart_pointer(session, layout(), event);
  }
  void move(double to_x, double to_y, Held held = {}) {
    x = to_x;
    y = to_y;
    send(Type::Move, held);
  }
  void move_to(const Box& box, Held held = {}) { move((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2, held); }
  [[nodiscard]] Box box_of(const char* op) { return *layout().rect_of(OpRef{run->id, find_op(*run, op)}); }
  [[nodiscard]] Box box_of_gap(int rank, std::size_t span) {
    return *layout().rect_of(GapRef{run->id, Rank(rank), span});
  }
  void click(Held held = {}, MouseButton button = MouseButton::Left) {
    send(Type::Press, held, button);
    send(Type::Release, held, button);
  }
  void drag(double to_x, double to_y, Held held = {}, MouseButton button = MouseButton::Left) {
    send(Type::Press, held, button);
    // On the way too: what a drag does follows from where it began and where it is.
    move((x + to_x) / 2, (y + to_y) / 2, held);
    move(to_x, to_y, held);
    send(Type::Release, held, button);
  }
  [[nodiscard]] double units(double ticks) const { return ticks / static_cast<double>(kOne); }
  [[nodiscard]] double start() const { return units(session.view.range.start); }
  [[nodiscard]] double end() const { return units(session.view.range.end); }
  /// Pixels of a time in units.
  [[nodiscard]] double at(double time) { return layout().x_of(time * static_cast<double>(kOne)); }
  /// The middle of a rank's ops.
  [[nodiscard]] double row(int rank) {
    const Strip& work = layout().row_of(run->id, Rank(rank))->lane(ChartLane::Work);
    return work.y + work.height / 2;
  }
};

}  // namespace

TEST_CASE("a click selects the op or the gap under it") {
  Chart chart;
  chart.move_to(chart.box_of("1/1B0"));
  CHECK(chart.session.selection.hover == OpRef{chart.run->id, 5});
  chart.click();
  CHECK(chart.session.selection.op == OpRef{chart.run->id, 5});
  chart.move_to(chart.box_of_gap(0, 0));
  CHECK(!chart.session.selection.hover);
  chart.click();
  CHECK(chart.session.selection.gap == GapRef{chart.run->id, Rank(0), 0});
  CHECK(!chart.session.selection.op);
  CHECK(chart.session.view.range == TimeRange{0, 9e9});
}

TEST_CASE("a click beside everything clears") {
  Chart chart;
  chart.move_to(chart.box_of("1/1B0"));
  chart.click();
  run_command(chart.session, "measure", "1 2");
  chart.move(500, 595);
  CHECK(chart.layout().hit(500, 595).area == ChartArea::RowSpace);
  chart.click();
  CHECK(!chart.session.selection.op);
  CHECK(!chart.session.range);
}

TEST_CASE("a double click fits the op") {
  Chart chart;
  chart.move_to(chart.box_of("0/0B0"));
  chart.send(Type::DoubleClick);
  // 4 .. 6 and a tenth of it on both sides.
  CHECK(chart.start() == Approx(3.8));
  CHECK(chart.end() == Approx(6.2));
}

TEST_CASE("the wheel zooms with Ctrl, at the pointer, and n steps back are the same view") {
  Chart chart;
  chart.move(chart.at(3), chart.row(0));
  const TimeRange before = chart.session.view.range;
  for (int i = 0; i < 4; ++i) chart.send(Type::Wheel, {.ctrl = true}, MouseButton::Left, 1);
  CHECK(chart.end() - chart.start() == Approx(9 / std::pow(1.25, 4)));
  CHECK(chart.units(chart.layout().time_of(chart.x)) == Approx(3));
  for (int i = 0; i < 4; ++i) chart.send(Type::Wheel, {.ctrl = true}, MouseButton::Left, -1);
  CHECK(chart.session.view.range == before);
}

TEST_CASE("the wheel pans with Shift, the preference swaps zooming and scrolling") {
  Chart chart;
  run_command(chart.session, "zoom-to", "2 4");
  chart.move(500, chart.row(0));
  chart.send(Type::Wheel, {.shift = true}, MouseButton::Left, 1);  // a tenth of the view earlier
  CHECK(chart.start() == Approx(1.8));
  chart.send(Type::Wheel, {}, MouseButton::Left, 1);
  CHECK(chart.end() - chart.start() == Approx(2));
  chart.session.preferences.wheel_zooms = true;
  chart.send(Type::Wheel, {}, MouseButton::Left, 1);
  CHECK(chart.end() - chart.start() == Approx(1.6));
}

TEST_CASE("the wheel scrolls rows that do not fit") {
  Chart chart;
  chart.session.view.row_height = 400;
  chart.move(500, 300);
  const double most = chart.layout().max_scroll();
  REQUIRE(most > 100);
  chart.send(Type::Wheel, {}, MouseButton::Left, -1);
  CHECK(chart.session.view.scroll == 48);
  chart.send(Type::Wheel, {}, MouseButton::Left, -1000);
  CHECK(chart.session.view.scroll == most);
  chart.send(Type::Wheel, {}, MouseButton::Left, 1000);
  CHECK(chart.session.view.scroll == 0);
}

TEST_CASE("a drag over the rows measures, and selects nothing") {
  Chart chart;
  chart.move(chart.at(5), chart.row(0));
  chart.drag(chart.at(2), chart.row(1));
  REQUIRE(chart.session.range);
  CHECK(chart.units(static_cast<double>(chart.session.range->start)) == Approx(2));
  CHECK(chart.units(static_cast<double>(chart.session.range->end)) == Approx(5));
  CHECK(!chart.session.selection.op);
  CHECK(chart.session.view.range == TimeRange{0, 9e9});
}

TEST_CASE("three pixels are a click, five are a drag") {
  Chart chart;
  chart.move_to(chart.box_of("1/1B0"));
  chart.drag(chart.x + 3, chart.y);
  CHECK(chart.session.selection.op);
  CHECK(!chart.session.range);
  chart.drag(chart.x + 5, chart.y);
  CHECK(chart.session.range);
}

TEST_CASE("Shift + click moves the nearer end of the range, or starts one at the selection") {
  Chart chart;
  chart.move_to(chart.box_of("0/0B0"));  // 4 .. 6
  chart.click();
  chart.move(chart.at(8), chart.row(0));
  chart.click({.shift = true});
  REQUIRE(chart.session.range);
  CHECK(chart.units(static_cast<double>(chart.session.range->start)) == Approx(4));
  CHECK(chart.units(static_cast<double>(chart.session.range->end)) == Approx(8));
  chart.move(chart.at(5), chart.row(0));
  chart.click({.shift = true});
  CHECK(chart.units(static_cast<double>(chart.session.range->start)) == Approx(5));
  CHECK(chart.units(static_cast<double>(chart.session.range->end)) == Approx(8));
}

TEST_CASE("Alt + drag, middle drag and a drag on the ruler zoom to what they cover") {
  for (const int way : {0, 1, 2}) {
    Chart chart;
    const Box ruler = chart.layout().ruler;
    chart.move(chart.at(2), way == 2 ? (ruler.y0 + ruler.y1) / 2 : chart.row(0));
    const double y = chart.y;
    const Held held{.alt = way == 0};
    const MouseButton button = way == 1 ? MouseButton::Middle : MouseButton::Left;
    chart.send(Type::Press, held, button);
    chart.move(chart.at(6), y, held);
    REQUIRE(chart.session.part<PointerPart>().band);
    CHECK(chart.start() == 0);
    chart.send(Type::Release, held, button);
    CHECK(chart.start() == Approx(2));
    CHECK(chart.end() == Approx(6));
    CHECK(!chart.session.part<PointerPart>().band);
    run_command(chart.session, "history-back");
    CHECK(chart.end() == 9);
  }
}

TEST_CASE("a right drag pans by what it moves and is one entry of the history") {
  Chart chart;
  run_command(chart.session, "zoom-to", "3 6");
  const std::size_t entries = chart.session.part<Navigation>().back().size();
  chart.move(chart.at(4), chart.row(0));
  chart.drag(chart.at(4.5), chart.row(0), {}, MouseButton::Right);
  // `at` of a view that moves: half a unit, as it was at the press.
  CHECK(chart.start() == Approx(2.5));
  CHECK(chart.session.part<Navigation>().back().size() == entries + 1);
  CHECK(!chart.session.range);
}

TEST_CASE("the window of the minimap moves with the pointer, a press beside it brings it there") {
  Chart chart;
  run_command(chart.session, "zoom-to", "2 4");
  const Box map = chart.layout().minimap;
  REQUIRE(!map.empty());
  const auto on_map = [&](double time) {
    return chart.layout().minimap_x_of(time * static_cast<double>(kOne));
  };
  const double y = (map.y0 + map.y1) / 2;
  chart.move(on_map(3), y);
  chart.drag(on_map(5), y);
  CHECK(chart.start() == Approx(4));
  CHECK(chart.end() == Approx(6));
  chart.move(on_map(1.5), y);
  chart.click();
  CHECK(chart.start() == Approx(0.5));
  CHECK(chart.end() == Approx(2.5));
  chart.move(on_map(6), y);
  chart.drag(on_map(8), y, {}, MouseButton::Right);
  CHECK(chart.start() == Approx(6));
  CHECK(chart.end() == Approx(8));
  chart.send(Type::DoubleClick);
  CHECK(chart.start() == 0);
  CHECK(chart.end() == 9);
}

TEST_CASE("the legend hides kinds, a double click picks all ops of one") {
  Chart chart;
  REQUIRE(chart.layout().entries.size() == 2);
  const LegendEntry entry = chart.layout().entries[1];
  CHECK(entry.kind == OpKind::Backward);
  chart.move_to(entry.box);
  chart.click();
  CHECK(chart.session.view.hidden_kinds == 1U << index_of(OpKind::Backward));
  chart.click();
  CHECK(chart.session.view.hidden_kinds == 0);
  chart.click();
  chart.send(Type::DoubleClick);
  chart.send(Type::Release);
  CHECK(chart.session.view.hidden_kinds == 0);
  CHECK(chart.session.selection.kind == OpKind::Backward);
}

TEST_CASE("buttons of a row pin and collapse it, a double click on its name collapses") {
  Chart chart;
  const auto buttons = [&] {
    const ChartLayout& layout = chart.layout();
    return layout.header_buttons(*layout.row_of(chart.run->id, Rank(1)));
  };
  chart.move_to(buttons().pin);
  chart.click();
  CHECK(chart.session.view.pinned == std::set<int>{1});
  chart.move_to(buttons().pin);
  chart.click();
  CHECK(chart.session.view.pinned.empty());
  chart.move_to(buttons().collapse);
  chart.click();
  CHECK(chart.session.view.collapsed == std::set<int>{1});
  chart.move(chart.layout().headers.x0 + 2, chart.row(1));
  chart.send(Type::DoubleClick);
  CHECK(chart.session.view.collapsed.empty());
}

TEST_CASE("the line of time is where the pointer is and goes with it") {
  Chart chart;
  PointerPart& part = chart.session.part<PointerPart>();
  chart.move(chart.at(2.5), chart.row(0));
  REQUIRE(part.time);
  CHECK(chart.units(*part.time) == Approx(2.5));
  CHECK(chart.session.part<Navigation>().pointer_share == Approx(2.5 / 9));
  run_command(chart.session, "mark");
  CHECK(chart.units(static_cast<double>(chart.session.marks[0].time)) == Approx(2.5));
  chart.send(Type::Leave);
  CHECK(!part.time);
  CHECK(!chart.session.part<Navigation>().pointer_share);
}

TEST_CASE("a drag that leaves the chart ends at its edge") {
  Chart chart;
  chart.move(chart.at(5), chart.row(0));
  chart.drag(5000, -300);
  REQUIRE(chart.session.range);
  CHECK(chart.units(static_cast<double>(chart.session.range->end)) == Approx(9));
}

TEST_CASE("a chart without runs takes every event") {
  Session session;
  ChartLayout layout;
  lay_out_chart(session, {0, 0, 400, 300}, 1, layout);
  for (const Type type :
       {Type::Move, Type::Press, Type::Move, Type::Release, Type::DoubleClick, Type::Wheel, Type::Leave})
    for (const double y : {5.0, 40.0, 100.0, 299.0})
      chart_pointer(session, layout, {type, 200, y, MouseButton::Left, true, false, false, 0, 1});
  CHECK(!session.selection.op);
}

TEST_CASE("while the schedule is edited, a drag moves the op in its queue") {
  Chart chart;
  // 0F0 0F1 0B0 0B1 on rank 0: 0F1 behind 0B0 leaves 0F0 0B0 0F1 0B1.
  run_command(chart.session, "edit-mode");
  ScheduleEditor& editor = chart.session.part<ScheduleEditor>();
  REQUIRE(editor.editing());
  chart.move_to(chart.box_of("0/0F1"));
  const Box target = chart.box_of("0/0B0");
  chart.send(Type::Press);
  chart.move(target.x1 - 2, chart.y);
  CHECK(chart.session.part<PointerPart>().drag == PointerPart::Drag::Op);
  CHECK(editor.drag_preview());
  chart.send(Type::Release);
  CHECK(!editor.dragging());
  CHECK(!chart.session.range);
  CHECK(editor.can_undo());
}

}  // namespace chart_pointer_test
