#include "gui/model/answer/cursor.hpp"

#include "gui/model/chart/chart_part.hpp"
#include "gui/model/edit/chart_pointer.hpp"
#include "gui/model/edit/config_model.hpp"
#include "gui/model/session/command.hpp"
#include "gui/part_state.hpp"
#include "sim/text.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace cursor_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

/// With 1f1b, p = 4, m = 8, F = 1, B = 2 on screen: 33 units.
Cursor& start(Session& session) {
  (void)session.part<ConfigModel>();
  settle(session);
  return session.part<Cursor>();
}

std::vector<int> all_at(const InFlight& in_flight, Ticks time) {
  std::vector<int> out;
  for (std::int32_t rank = 0; rank < 4; ++rank) out.push_back(in_flight.at(Rank(rank), time));
  return out;
}

}  // namespace

TEST_CASE("microbatches in flight follow from starts of F and ends of B") {
  Session session;
  (void)start(session);
  const InFlight in_flight(session.runs.front().run);
  CHECK(all_at(in_flight, -1) == std::vector<int>{0, 0, 0, 0});
  // Rank r starts its first F at r.
  CHECK(all_at(in_flight, 0) == std::vector<int>{1, 0, 0, 0});
  CHECK(all_at(in_flight, 4 * kOne - 1) == std::vector<int>{4, 3, 2, 1});
  // 3B0 is 4 to 6; when it ends, 3F1 starts.
  CHECK(all_at(in_flight, 6 * kOne) == std::vector<int>{4, 3, 2, 1});
  // 0B0 is 10 to 12, and the last B of rank 0 ends at 33, that of rank 3 at 27.
  CHECK(all_at(in_flight, 33 * kOne - 1) == std::vector<int>{1, 0, 0, 0});
  CHECK(all_at(in_flight, 33 * kOne) == std::vector<int>{0, 0, 0, 0});
}

TEST_CASE("in flight behind many ops") {
  // 700 of each: sums are kept for some only.
  std::string queue;
  for (int k = 0; k < 700; ++k) queue += (k == 0 ? "0F" : " 0F") + std::to_string(k);
  for (int k = 0; k < 700; ++k) queue += " 0B" + std::to_string(k);
  const InFlight in_flight(run_of(queue));
  CHECK(in_flight.at(Rank(0), 699 * kOne) == 700);
  CHECK(in_flight.at(Rank(0), (700 + 2 * 600) * kOne) == 100);
}

TEST_CASE("starts around a time") {
  Session session;
  (void)start(session);
  const InFlight in_flight(session.runs.front().run);
  CHECK(in_flight.next_start(4 * kOne) == 6 * kOne);
  CHECK(in_flight.start_before(6 * kOne) == 4 * kOne);
  CHECK_FALSE(in_flight.next_start(33 * kOne));
  CHECK_FALSE(in_flight.start_before(0));
}

TEST_CASE("the cursor is put, steps, and stays within the run") {
  Session session;
  Cursor& cursor = start(session);
  CHECK_FALSE(cursor.time(session));
  run_command(session, "cursor", "4");
  settle(session);
  CHECK(cursor.time(session) == 4 * kOne);
  const std::string state = state_of(cursor, session);
  CHECK(state.find(R"("in_flight":[4,3,2,1])") != std::string::npos);
  CHECK(state.find(R"("memory_bytes":[4.0,3.0,2.0,1.0])") != std::string::npos);
  run_command(session, "step-forward");
  CHECK(cursor.time(session) == 6 * kOne);
  run_command(session, "step-back");
  CHECK(cursor.time(session) == 4 * kOne);
  run_command(session, "cursor", "100");
  CHECK(cursor.time(session) == 33 * kOne);
  run_command(session, "cursor", "none");
  CHECK_FALSE(cursor.time(session));
  CHECK(state_of(cursor, session) == "null");
}

TEST_CASE("the run plays over and over, a range where one is measured") {
  Session session;
  Cursor& cursor = start(session);
  session.frame_seconds = 1;
  run_command(session, "play");
  CHECK(cursor.update(session));
  // A tenth of 33 a second.
  CHECK(cursor.time(session) == 33 * kOne / 10);
  for (int second = 0; second < 10; ++second) cursor.update(session);
  CHECK(*cursor.time(session) < 33 * kOne / 10);
  session.range = MeasuredRange{10 * kOne, 20 * kOne};
  cursor.update(session);
  CHECK(cursor.time(session) == 10 * kOne);
  cursor.update(session);
  CHECK(cursor.time(session) == 11 * kOne);
  run_command(session, "pause");
  CHECK_FALSE(cursor.update(session));
  CHECK(cursor.time(session) == 11 * kOne);
}

TEST_CASE("queues at a moment: what runs, comes next, and is received but not begun") {
  Session session;
  (void)start(session);
  const InFlight in_flight(session.runs.front().run);
  // At 4 rank 0 waits for 1B0 with four forwards behind it; rank 2 ran 2F0 from 2 and 2F1 from 3, and has no more input.
  const QueueMoment first = in_flight.queue_at(Rank(0), 4 * kOne);
  CHECK(first.now.empty());
  REQUIRE(first.next.size() == 4);
  CHECK(to_text(first.next[0]) == "0B0");
  CHECK(to_text(first.next[1]) == "0F4");
  CHECK(first.received.empty());
  // Rank 3 begins 3B0, and 2F1 ended at 4: its output is there.
  const QueueMoment last = in_flight.queue_at(Rank(3), 4 * kOne);
  REQUIRE(last.now.size() == 1);
  CHECK(to_text(last.now[0]) == "3B0");
  REQUIRE(last.received.size() == 1);
  CHECK(to_text(last.received[0]) == "3F1");
}

TEST_CASE("the steady state of 1F1B is one microbatch long") {
  Session session;
  (void)start(session);
  run_command(session, "set", "microbatches 24");
  settle(session);
  const auto steady = find_steady(*session.runs.front().run);
  REQUIRE(steady);
  CHECK(steady->period == 3 * kOne);  // F and B
  CHECK(steady->microbatches == 1);
  // GPipe does all forwards, then all backwards.
  CHECK_FALSE(find_steady(*run_of("0F0 0F1 0F2 0F3 0B0 0B1 0B2 0B3")));
}

TEST_CASE("one period of the steady state is measured and played") {
  Session session;
  Cursor& cursor = start(session);
  run_command(session, "set", "microbatches 24");
  run_command(session, "play-steady");
  settle(session);
  CHECK(cursor.playing());
  REQUIRE(session.range);
  CHECK(session.range->end - session.range->start == 3 * kOne);
  CHECK(state_of(cursor, session).find(R"("period":3.0,"microbatches":1)") != std::string::npos);
}

TEST_CASE("the pointer moves the cursor, which then does not play") {
  Session session;
  Cursor& cursor = start(session);
  run_command(session, "play");
  session.part<ChartPart>().cursor = 5.0 * kOne;
  session.part<PointerPart>().drag = PointerPart::Drag::Cursor;
  session.update();
  CHECK(cursor.time(session) == 5 * kOne);
  CHECK_FALSE(cursor.playing());
}

}  // namespace cursor_test
