#include "gui/model/chart/navigation.hpp"

#include "gui/model/chart/glide.hpp"
#include "gui/model/chart/select.hpp"
#include "gui/model/session/command.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace navigation_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

/// A session that shows the scene, with a clock that tests turn.
struct Scene {
  Session session;
  RunPtr run = open_in(session, run_of(kScene));
  double clock = 0;
  Navigation& navigation = session.part<Navigation>();
  Scene() {
    navigation.now = [this] { return clock; };
  }
  [[nodiscard]] double start() const { return session.view.range.start / static_cast<double>(kOne); }
  [[nodiscard]] double end() const { return session.view.range.end / static_cast<double>(kOne); }
  void show(double start, double end) {
    show_range(session, {start * static_cast<double>(kOne), end * static_cast<double>(kOne)});
  }
};

}  // namespace

TEST_CASE("the time under the pointer stays there while zooming") {
  Scene scene;
  CHECK(scene.start() == 0);
  CHECK(scene.end() == 9);
  // A third of 0 .. 9 is 3; three steps of 1.25 leave 9 / 1.953125 = 4.608 of it, a third of that in front of 3.
  zoom_at(scene.session, 1.0 / 3, 3, Gesture::Wheel);
  CHECK(scene.end() - scene.start() == Approx(4.608));
  CHECK(scene.start() == Approx(3 - 4.608 / 3));
}

TEST_CASE("a jump glides to its view and rests there, a zoom by hand does not glide") {
  Scene scene;
  auto& glide = scene.session.part<Glide>();
  scene.session.view.placed = true;
  scene.session.frame_seconds = 0.05;
  (void)glide.update(scene.session);
  CHECK(glide.idle());
  const TimeRange whole = scene.session.view.range;
  scene.show(2, 5);
  const TimeRange target = scene.session.view.range;
  CHECK(glide.update(scene.session));
  CHECK_FALSE(glide.idle());
  CHECK(glide.shown() == whole);
  (void)glide.update(scene.session);
  CHECK(glide.shown().start > whole.start);
  CHECK(glide.shown().start < target.start);
  // 120 ms are three frames of 50.
  (void)glide.update(scene.session);
  (void)glide.update(scene.session);
  CHECK(glide.idle());
  CHECK(glide.shown() == target);
  zoom_at(scene.session, 0.5, 3, Gesture::Wheel);
  (void)glide.update(scene.session);
  CHECK(glide.idle());
  CHECK(glide.shown() == scene.session.view.range);
}

TEST_CASE("as many steps back give back the very same view") {
  Scene scene;
  scene.show(0.7, 6.1);
  const TimeRange before = scene.session.view.range;
  for (int i = 0; i < 17; ++i) zoom_at(scene.session, 0.3137, 1, Gesture::Wheel);
  CHECK(scene.session.view.range.length() < before.length() / 40);
  for (int i = 0; i < 17; ++i) zoom_at(scene.session, 0.3137, -1, Gesture::Wheel);
  CHECK(scene.session.view.range == before);
  // Parts of steps, as held keys make them.
  for (int i = 0; i < 10; ++i) zoom_at(scene.session, 0.5, 0.1, Gesture::Held);
  for (int i = 0; i < 10; ++i) zoom_at(scene.session, 0.5, -0.1, Gesture::Held);
  CHECK(scene.session.view.range == before);
}

TEST_CASE("a view never loses the runs, nor the steps of its numbers") {
  const Span runs{0, 9 * kOne};
  const auto one = static_cast<double>(kOne);
  // Too long: 1.5 times all runs, around the same middle.
  CHECK(clamped({-95.5 * one, 104.5 * one}, runs) == TimeRange{-2.25 * one, 11.25 * one});
  // Away to the left: a tenth of the view, 0.2, still shows the run.
  const TimeRange left = clamped({-10 * one, -8 * one}, runs);
  CHECK(left.end == Approx(0.2 * one));
  CHECK(left.length() == Approx(2 * one));
  const TimeRange right = clamped({20 * one, 22 * one}, runs);
  CHECK(right.start == Approx(8.8 * one));
  // Too short: 100 ticks.
  CHECK(clamped({one, one + 1}, runs).length() == Approx(100));
  // Far from zero floating point ends earlier: 2^50 / 2^36 = 2^14 ticks.
  const Span far{Ticks{1} << 49, Ticks{1} << 50};
  CHECK(clamped({0x1p49, 0x1p49 + 100}, far).length() == Approx(0x1p14));
}

TEST_CASE("zooming at the limit does not count, so the first step back is seen") {
  Scene scene;
  for (int i = 0; i < 50; ++i) zoom_at(scene.session, 0.5, -1, Gesture::Wheel);
  CHECK(scene.end() - scene.start() == Approx(13.5));
  zoom_at(scene.session, 0.5, 1, Gesture::Wheel);
  CHECK(scene.end() - scene.start() == Approx(13.5 / 1.25));
}

TEST_CASE("a key held for a second pans by a view, Shift four times as fast") {
  Scene scene;
  scene.show(4, 5);
  scene.session.frame_seconds = 1.0 / 60;
  for (int frame = 0; frame < 60; ++frame) run_command(scene.session, "pan-right");
  CHECK(scene.start() == Approx(5));
  for (int frame = 0; frame < 15; ++frame) run_command(scene.session, "pan-left-fast");
  CHECK(scene.start() == Approx(4));
}

TEST_CASE("keys zoom where the pointer is, else in the middle") {
  Scene scene;
  scene.session.frame_seconds = 0.125;  // eight steps a second: one step
  run_command(scene.session, "zoom-in");
  CHECK(scene.start() == Approx(4.5 - 3.6));
  scene.show(0, 9);
  scene.navigation.pointer_share = 0;
  run_command(scene.session, "zoom-in");
  CHECK(scene.start() == 0);
  CHECK(scene.end() == Approx(7.2));
}

TEST_CASE("one entry of the history per gesture, back and forward again") {
  Scene scene;
  const TimeRange all = scene.session.view.range;
  for (int i = 0; i < 5; ++i) {
    zoom_at(scene.session, 0.5, 1, Gesture::Wheel);
    scene.clock += 0.1;
  }
  const TimeRange zoomed = scene.session.view.range;
  CHECK(scene.navigation.back().size() == 1);
  scene.clock += 1;  // a pause: the next turn of the wheel is another gesture
  zoom_at(scene.session, 0.5, 1, Gesture::Wheel);
  CHECK(scene.navigation.back().size() == 2);
  scene.show(1, 2);
  const TimeRange last = scene.session.view.range;

  run_command(scene.session, "history-back");
  run_command(scene.session, "history-back");
  CHECK(scene.session.view.range == zoomed);
  run_command(scene.session, "history-back");
  CHECK(scene.session.view.range == all);
  run_command(scene.session, "history-back");
  CHECK(scene.session.view.range == all);
  for (int i = 0; i < 3; ++i) run_command(scene.session, "history-forward");
  CHECK(scene.session.view.range == last);
  run_command(scene.session, "history-forward");
  CHECK(scene.session.view.range == last);
}

TEST_CASE("a new gesture forgets what was ahead") {
  Scene scene;
  scene.show(1, 2);
  run_command(scene.session, "history-back");
  scene.show(3, 4);
  run_command(scene.session, "history-forward");
  CHECK(scene.start() == Approx(3));
}

TEST_CASE("F centres the selection, F again fits it, Home shows everything") {
  Scene scene;
  scene.show(0, 4);
  scene.session.selection.op = OpRef{scene.run->id, 3};  // 0B1, 7 .. 9
  run_command(scene.session, "focus-selection");
  CHECK(scene.start() == Approx(6));
  CHECK(scene.end() == Approx(10));
  run_command(scene.session, "focus-selection");
  CHECK(scene.start() == Approx(6.8));
  CHECK(scene.end() == Approx(9.2));
  run_command(scene.session, "fit");
  CHECK(scene.start() == 0);
  CHECK(scene.end() == 9);
}

TEST_CASE("F without a selection says what to do") {
  Scene scene;
  run_command(scene.session, "focus-selection");
  CHECK(scene.session.message.text.find("nothing is selected") == 0);
}

TEST_CASE("steps along the queue, the dependencies and the microbatch") {
  Scene scene;
  Session& session = scene.session;
  const auto selected = [&] {
    return session.selection.op ? op_name(*scene.run, session.selection.op->op) : "";
  };
  run_command(session, "select-op", "0/0F0");
  CHECK(selected() == "0/0F0");
  run_command(session, "next-op");
  CHECK(selected() == "0/0F1");
  run_command(session, "previous-op");
  run_command(session, "previous-op");
  CHECK(selected() == "0/0F0");
  CHECK(session.message.text == "0F0 is the first op of rank 0");
  run_command(session, "follow-forward");
  CHECK(selected() == "1/1F0");
  run_command(session, "follow-forward");
  CHECK(selected() == "1/1B0");
  run_command(session, "follow-forward");
  CHECK(selected() == "0/0B0");
  run_command(session, "follow-back");
  CHECK(selected() == "1/1B0");

  // Microbatch 0 in time: 0F0, 1F0, 1B0, 0B0.
  run_command(session, "next-of-microbatch");
  CHECK(selected() == "0/0B0");
  run_command(session, "next-of-microbatch");
  CHECK(session.message.text == "0B0 is the last op of microbatch 0");
  for (int i = 0; i < 3; ++i) run_command(session, "previous-of-microbatch");
  CHECK(selected() == "0/0F0");
}

TEST_CASE("the first step selects an op in the middle of the view") {
  Scene scene;
  // 4.5 on rank 0: 0B0 runs from 4 to 6.
  run_command(scene.session, "next-op");
  REQUIRE(scene.session.selection.op);
  CHECK(op_name(*scene.run, scene.session.selection.op->op) == "0/0B0");
}

TEST_CASE("Up and Down change the rank at the same time and pass hidden ones") {
  Session session;
  // One op per rank, 2-3 on rank 2.
  const RunPtr run = open_in(session, run_of("0F0 | 1F0 | 2F0"));
  run_command(session, "select-op", "2/2F0");
  run_command(session, "filter-ranks", "0,2");
  run_command(session, "rank-up");
  CHECK(op_name(*run, session.selection.op->op) == "0/0F0");
  run_command(session, "rank-up");
  CHECK(session.message.text == "no rank above");
  run_command(session, "rank-down");
  CHECK(op_name(*run, session.selection.op->op) == "2/2F0");
}

TEST_CASE("G walks the gaps from the longest on") {
  Scene scene;
  Session& session = scene.session;
  // Rank 0: 2-4 and 6-7. Rank 1: 0-1 and 7-9.
  run_command(session, "select-largest-gap");
  CHECK(session.selection.gap == GapRef{scene.run->id, Rank(0), 0});
  run_command(session, "select-largest-gap");
  CHECK(session.selection.gap == GapRef{scene.run->id, Rank(1), 1});
  run_command(session, "select-largest-gap");
  CHECK(session.selection.gap == GapRef{scene.run->id, Rank(0), 1});
  run_command(session, "select-largest-gap");
  CHECK(session.selection.gap == GapRef{scene.run->id, Rank(1), 0});
  run_command(session, "select-largest-gap");
  CHECK(session.message.text == "no shorter gap");
  run_command(session, "next-gap");
  CHECK(session.selection.gap == GapRef{scene.run->id, Rank(1), 1});
  run_command(session, "next-op");
  CHECK(op_name(*scene.run, session.selection.op->op) == "1/1B1");
  run_command(session, "previous-gap");
  CHECK(session.selection.gap == GapRef{scene.run->id, Rank(1), 0});
}

TEST_CASE("selecting pans no more than needed") {
  Scene scene;
  scene.show(0, 3);
  run_command(scene.session, "select-op", "1/1B1");  // 5 .. 7, to the end of the view with a tenth of room
  CHECK(scene.end() == Approx(7.3));
  CHECK(scene.start() == Approx(4.3));
  run_command(scene.session, "select-op", "1/1B1");
  CHECK(scene.end() == Approx(7.3));
}

TEST_CASE("Escape clears the range, then the selection") {
  Scene scene;
  Session& session = scene.session;
  run_command(session, "select-op", "0/0B0");
  run_command(session, "measure-selection");
  CHECK(session.range == MeasuredRange{4 * kOne, 6 * kOne});
  run_command(session, "clear");
  CHECK(!session.range);
  CHECK(session.selection.op);
  run_command(session, "clear");
  CHECK(!session.selection.op);
}

TEST_CASE("ops and gaps that are not there are refused with what is") {
  Scene scene;
  Session& session = scene.session;
  run_command(session, "select-op", "0/1F0");
  CHECK(session.message.text.find("no queue of rank 0 has 1F0") != std::string::npos);
  run_command(session, "select-op", "first");
  CHECK(session.message.text.find("a rank from 0 to 1") != std::string::npos);
  run_command(session, "select-gap", "1/2");
  CHECK(session.message.text.find("rank 1 has 2 gaps") != std::string::npos);
  run_command(session, "select-gap", "2/0");
  CHECK(session.message.kind == MessageKind::Problem);
}

}  // namespace navigation_test
