#include "gui/model/panels/range_stats.hpp"

#include <random>

#include <pipeloom/metrics.hpp>
#include "gui/model/panels/notes.hpp"
#include "gui/model/session/command.hpp"
#include "gui/part_state.hpp"
#include "sim/kinds.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace range_stats_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

Ticks busy_of(const RankRange& range, OpKind kind) {
  return range.busy_of[index_of(kind)];
}

/// Every op and gap, one by one.
RankRange by_hand(const RunModel& run, Rank rank, Ticks from, Ticks to) {
  RankRange out;
  const auto part = [&](Ticks start, Ticks end) {
    return std::max<Ticks>(0, std::min(end, to) - std::max(start, from));
  };
  const Schedule& schedule = *run.schedule;
  for (std::size_t i = schedule.queue_begin(rank); i < schedule.queue_end(rank); ++i) {
    const Ticks time = part(run.timeline.start[i], run.timeline.end[i]);
    const OpKind kind = schedule.ops()[i].kind();
    out.busy_of[index_of(kind)] += time;
    if (is_copy(kind)) continue;
    out.busy += time;
    if (run.timeline.end[i] > from && run.timeline.start[i] < to) ++out.ops;
  }
  for (const IdleSpan& span : run.idle[rank.at()]) {
    out.idle += part(span.start, span.end);
    out.idle_of.of(span.cause) += part(span.start, span.end);
  }
  return out;
}

}  // namespace

TEST_CASE("busy by kind and idle by cause of a part of a run") {
  const RunPtr run = run_of(kScene);
  // 1.5 .. 4.5: half of 0F1, half a unit of 0B0; the gap from 2 to 4 is warm-up.
  const RankRange first = range_of(*run, Rank(0), 3 * kOne / 2, 9 * kOne / 2);
  CHECK(busy_of(first, OpKind::Forward) == kOne / 2);
  CHECK(busy_of(first, OpKind::Backward) == kOne / 2);
  CHECK(first.busy == kOne);
  CHECK(first.idle == 2 * kOne);
  CHECK(first.idle_of.warmup == 2 * kOne);
  CHECK(first.ops == 2);
  // Rank 1: half of 1F0, all of 1B0, half of 1F1.
  const RankRange second = range_of(*run, Rank(1), 3 * kOne / 2, 9 * kOne / 2);
  CHECK(busy_of(second, OpKind::Forward) == kOne);
  CHECK(busy_of(second, OpKind::Backward) == 2 * kOne);
  CHECK(second.idle == 0);
  CHECK(second.ops == 3);
}

TEST_CASE("a range inside of one op, and one outside of the run") {
  const RunPtr run = run_of(kScene);
  const RankRange inside = range_of(*run, Rank(0), 5 * kOne, 5 * kOne + 7);
  CHECK(inside.busy == 7);
  CHECK(inside.idle == 0);
  CHECK(range_of(*run, Rank(0), 10 * kOne, 20 * kOne) == RankRange{});
  CHECK(range_of(*run, Rank(0), -5 * kOne, 0) == RankRange{});
}

TEST_CASE("the parts of a group share its time to the tick") {
  // The group of 0F1 (1) and 0B0 (2) takes 3 units from 4 on; of 5 ticks the first op takes 3, the second 2.
  const RunPtr run = run_of("0F0 (0F1;0B0)OVERLAP_F_B 0B1 | 1F0 1B0 1F1 1B1");
  const RankRange part = range_of(*run, Rank(0), 4 * kOne, 4 * kOne + 5);
  CHECK(busy_of(part, OpKind::Forward) == 3);
  CHECK(busy_of(part, OpKind::Backward) == 2);
  CHECK(part.busy == 5);
  // The whole run: 0F0 1, the group 3, 0B1 2.
  const RankRange whole = range_of(*run, Rank(0), 0, 100 * kOne);
  CHECK(whole.busy == 6 * kOne);
  CHECK(busy_of(whole, OpKind::Forward) == kOne + 3 * kOne / 2);
}

TEST_CASE("copies count beside the work") {
  // F 0-1, O 1-2, L 2-3, B 3-5.
  const RunPtr run = run_of("0F0 0O0 0L0 0B0");
  const RankRange whole = range_of(*run, Rank(0), 0, 5 * kOne);
  CHECK(whole.busy == 3 * kOne);
  CHECK(busy_of(whole, OpKind::Offload) == kOne);
  CHECK(busy_of(whole, OpKind::Reload) == kOne);
  CHECK(whole.idle == 2 * kOne);
  CHECK(whole.idle_of.memory == 2 * kOne);
  CHECK(whole.ops == 2);
}

TEST_CASE("all steps count, busy and idle fill the range") {
  const RunPtr run = run_of(scene(kScene), whole_units(), 3);
  // Three steps of 9 with 6 busy each.
  const RankRange whole = range_of(*run, Rank(0), 0, 27 * kOne);
  CHECK(whole.busy == 18 * kOne);
  CHECK(whole.idle == 9 * kOne);
  CHECK(whole.idle_of.total() == 3 * kOne);
  const RankRange across = range_of(*run, Rank(0), 8 * kOne, 10 * kOne);
  CHECK(busy_of(across, OpKind::Backward) == kOne);
  CHECK(busy_of(across, OpKind::Forward) == kOne);
}

TEST_CASE("sums by blocks are what adding one by one gives") {
  const RunPtr run = run_of(test::one_f_one_b(4, 300), UniformCosts{7, 12, 5, 6, 1, 3});
  std::mt19937 random(1);
  const auto last = static_cast<int>(run->span().end);
  for (int i = 0; i < 500; ++i) {
    Ticks from = std::uniform_int_distribution<int>(-5, last + 5)(random);
    Ticks to = std::uniform_int_distribution<int>(-5, last + 5)(random);
    if (from > to) std::swap(from, to);
    for (Rank rank{0}; rank < Rank(4); ++rank)
      REQUIRE(range_of(*run, rank, from, to) == by_hand(*run, rank, from, to));
  }
}

TEST_CASE("statistics follow the range and the active run") {
  Session session;
  open_in(session, run_of(kScene));
  open_in(session, run_of("0F0 0B0"));
  RangeStats& stats = session.part<RangeStats>();
  CHECK(stats.of_range(session) == nullptr);
  CHECK(state_of(stats, session) == "null");
  run_command(session, "measure", "0 2");
  REQUIRE(stats.of_range(session) != nullptr);
  CHECK(stats.of_range(session)->size() == 2);
  CHECK((*stats.of_range(session))[0].busy == 2 * kOne);
  CHECK(state_of(stats, session).find("\"busy\":2.0") != std::string::npos);
  run_command(session, "select-run", "1");
  CHECK(stats.of_range(session)->size() == 1);
  run_command(session, "measure", "0 1");
  CHECK((*stats.of_range(session))[0].busy == kOne);
}

TEST_CASE("marks keep their order, and go by the same key") {
  Session session;
  open_in(session, run_of(kScene));
  for (const char* time : {"4", "1.5", "7"}) run_command(session, "mark", time);
  REQUIRE(session.marks.size() == 3);
  CHECK(session.marks[0].time == 3 * kOne / 2);
  CHECK(session.marks[1].time == 4 * kOne);
  CHECK(session.marks[2].time == 7 * kOne);
  // Within 0.3 % of the view (0.027) it is the same mark.
  run_command(session, "mark", "4.02");
  REQUIRE(session.marks.size() == 2);
  CHECK(session.marks[1].time == 7 * kOne);
  // The persistent key keeps a temporary mark.
  run_command(session, "mark-for-good", "7");
  CHECK(session.marks[1] == Mark{7 * kOne, "", true});
  run_command(session, "clear-marks");
  CHECK(session.marks == std::vector<Mark>{{7 * kOne, "", true}});
}

TEST_CASE("a mark without a time stands at the selection, else in the middle, notes have a text") {
  Session session;
  open_in(session, run_of(kScene));
  run_command(session, "mark");
  CHECK(session.marks[0].time == 9 * kOne / 2);
  run_command(session, "select-op", "1/1B1");
  run_command(session, "note", "why here?");
  CHECK(session.marks[1] == Mark{5 * kOne, "why here?", true});
  run_command(session, "note");
  CHECK(session.message.kind == MessageKind::Problem);
  run_command(session, "mark", "soon");
  CHECK(session.message.text.find("a time in unit such as 12.5") != std::string::npos);
}

TEST_CASE("jumps go from mark to mark") {
  Session session;
  open_in(session, run_of(kScene));
  for (const char* time : {"2", "5", "6"}) run_command(session, "mark", time);
  run_command(session, "zoom-to", "2 4");
  const auto middle = [&] {
    return (session.view.range.start + session.view.range.end) / 2 / static_cast<double>(kOne);
  };
  run_command(session, "next-mark");
  CHECK(middle() == Approx(5));
  run_command(session, "next-mark");
  CHECK(middle() == Approx(6));
  run_command(session, "next-mark");
  CHECK(session.message.text == "no later mark");
  run_command(session, "previous-mark");
  CHECK(middle() == Approx(5));
}

}  // namespace range_stats_test
