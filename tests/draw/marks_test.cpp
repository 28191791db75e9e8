#include "sim/tracks/marks.hpp"

#include <random>

#include "draw/scenes.hpp"
#include "support/catch.hpp"

namespace marks_test {

using namespace pipeloom;
using namespace pipeloom::draw;
using tracks::total;

namespace {

/// A timeline of one rank whose forwards have these gaps and lengths, in ticks.
Timeline spaced(const std::vector<std::pair<Ticks, Ticks>>& gap_and_length) {
  const int count = static_cast<int>(gap_and_length.size());
  ScheduleBuilder out(Placement::linear(1), count);
  out.begin_rank(Rank(0));
  for (int k = 0; k < count; ++k) out.add(forward(Stage(0), Microbatch(k)));
  Timeline timeline;
  timeline.schedule = std::make_shared<const Schedule>(std::move(out).build());
  Ticks time = 0;
  for (const auto& [gap, length] : gap_and_length) {
    timeline.start.push_back(time + gap);
    timeline.end.push_back(time + gap + length);
    time += gap + length;
  }
  return timeline;
}

Timeline random_timeline(std::mt19937& random) {
  std::vector<std::pair<Ticks, Ticks>> shape(200);
  for (auto& [gap, length] : shape) {
    gap = random() % 3 == 0 ? static_cast<Ticks>(random() % 40) : 0;
    length = static_cast<Ticks>(random() % (random() % 8 == 0 ? 200 : 6));
  }
  return spaced(shape);
}

}  // namespace

TEST_CASE("ops wide enough are drawn one by one", "[draw]") {
  const Timeline timeline = run(kTwoRanks);
  const TimelineIndex index(timeline);
  CHECK(index.span() == Span{0, 9 * kUnit});
  CHECK(index.shortest() == kUnit);
  // 9 bins of one unit each: every op fills at least one.
  const auto marks = index.marks(Rank(0), index.span(), 9);
  REQUIRE(marks.size() == 4);
  CHECK_FALSE(marks[2].merged);
  CHECK(marks[2].start == 4 * kUnit);
  CHECK(marks[2].end == 6 * kUnit);
  CHECK(marks[2].busy[index_of(OpKind::Backward)] == 2 * kUnit);
}

TEST_CASE("narrow ops merge by bin and keep their busy time by kind", "[draw]") {
  const Timeline timeline = run(kTwoRanks);
  const TimelineIndex index(timeline);
  // Three bins of three units; rank 1 is busy from 1 to 7: F0 B0 | B0 F1 B1 | B1.
  const auto marks = index.marks(Rank(1), index.span(), 3);
  REQUIRE(marks.size() == 3);
  CHECK(marks[0].merged);
  CHECK(marks[0].busy == BusyByKind{kUnit, kUnit, 0, 0});
  CHECK(marks[1].busy == BusyByKind{kUnit, 2 * kUnit, 0, 0});
  CHECK(marks[2].busy == BusyByKind{0, kUnit, 0, 0});
}

TEST_CASE("an overlapped group counts once, half for each part", "[draw]") {
  // The group lasts F + B = 3 units.
  const Timeline timeline = run("0F0 (0F1;0B0)OVERLAP_F_B 0B1");
  const TimelineIndex index(timeline);
  CHECK(index.busy(Rank(0), kUnit, 4 * kUnit) == BusyByKind{3 * kUnit / 2, 3 * kUnit / 2, 0, 0});
  CHECK(total(index.busy(Rank(0), 0, 100 * kUnit)) == 6 * kUnit);
}

TEST_CASE("marks conserve busy time, stay in order and cover no long idle stretch", "[draw]") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const Timeline timeline = random_timeline(random);
    const TimelineIndex index(timeline);
    Span range{static_cast<Ticks>(random() % 100), 0};
    range.end = range.start + 1 + static_cast<Ticks>(random() % 3000);
    const int bins = 1 + static_cast<int>(random() % 300);
    const auto marks = index.marks(Rank(0), range, bins);
    Ticks busy = 0;
    Ticks cursor = range.start;
    for (const Mark& mark : marks) {
      REQUIRE(mark.start >= cursor);
      REQUIRE(mark.end > mark.start);
      cursor = mark.end;
      busy += total(mark.busy);
      REQUIRE(total(mark.busy) > 0);
      // A merged mark is at most a bin long and holds something busy, so two idle bins in a row show.
      if (mark.merged) REQUIRE(mark.end - mark.start <= range.length() / bins + 1);
      if (!mark.merged) REQUIRE(total(mark.busy) == mark.end - mark.start);
    }
    REQUIRE(cursor <= range.end);
    REQUIRE(busy == total(index.busy(Rank(0), range.start, range.end)));
    // Pixels decide, not ops: at most two marks per bin.
    REQUIRE(marks.size() <= 2 * static_cast<std::size_t>(bins) + 1);
  }
}

TEST_CASE("busy time agrees with adding up op by op", "[draw]") {
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    const Timeline timeline = random_timeline(random);
    const TimelineIndex index(timeline);
    const auto from = static_cast<Ticks>(random() % 1000);
    const auto to = from + static_cast<Ticks>(random() % 1000);
    Ticks sum = 0;
    for (std::size_t op = 0; op < timeline.start.size(); ++op) {
      sum += std::max<Ticks>(0, std::min(timeline.end[op], to) - std::max(timeline.start[op], from));
    }
    REQUIRE(total(index.busy(Rank(0), from, to)) == sum);
  }
}

}  // namespace marks_test
