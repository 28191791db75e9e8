// Single ops that differ, told from chance.

#include "study/calibrate/single_ops.hpp"

#include <cmath>
#include <random>

#include <pipeloom/schedule.hpp>
#include "support/catch.hpp"

namespace pipeloom::study::calibrate::single_ops_test {
namespace {

/// One rank that runs 20 microbatches forward and backward; `time(step, microbatch, kind)` ticks each.
template <class Time>
Timeline steps_of(int steps, Time&& time) {
  ScheduleBuilder out(Placement::linear(1), 20);
  out.begin_rank(Rank(0));
  for (int k = 0; k < 20; ++k) {
    out.add(forward(Stage(0), Microbatch(k)));
    out.add(backward(Stage(0), Microbatch(k)));
  }
  Timeline timeline;
  timeline.schedule = std::make_shared<const Schedule>(std::move(out).build());
  timeline.steps = steps;
  Ticks now = 0;
  for (int step = 0; step < steps; ++step)
    for (const Op op : timeline.schedule->ops()) {
      timeline.start.push_back(now);
      now += time(step, op.microbatch().value(), op.kind());
      timeline.end.push_back(now);
    }
  return timeline;
}

}  // namespace

TEST_CASE("noise alone has no exceptions, in all but one of a hundred runs", "[calibrate]") {
  int runs_with_rows = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    const Timeline timeline = steps_of(1 + static_cast<int>(seed % 4), [&](int, int, OpKind) {
      return std::llround(1e9 * std::exp(0.03 * normal(random)));
    });
    const SingleOps found = find_single_ops(timeline);
    if (!found.rows.empty()) ++runs_with_rows;
  }
  CHECK(runs_with_rows <= 3);
}

TEST_CASE("a pause in one step is none where others do not have it", "[calibrate]") {
  const Timeline timeline = steps_of(5, [](int step, int microbatch, OpKind kind) -> Ticks {
    const bool pauses = step == 2 && microbatch == 7 && kind == OpKind::Forward;
    return pauses ? 9000 : 1000;
  });
  CHECK(find_single_ops(timeline).rows.empty());
}

TEST_CASE("what the second half of the steps does not confirm is no exception", "[calibrate]") {
  // Three of four steps are most of them, but of the last two one is as all others.
  const Timeline timeline = steps_of(4, [](int step, int microbatch, OpKind kind) -> Ticks {
    return step < 3 && microbatch == 7 && kind == OpKind::Forward ? 1500 : 1000;
  });
  CHECK(find_single_ops(timeline).rows.empty());
}

TEST_CASE("a first forward that is longer in every step is one", "[calibrate]") {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  const Timeline timeline = steps_of(3, [&](int, int microbatch, OpKind kind) {
    const double usual = microbatch == 0 && kind == OpKind::Forward ? 1.08e9 : 1e9;
    return std::llround(usual * std::exp(0.01 * normal(random)));
  });
  const SingleOps found = find_single_ops(timeline);
  REQUIRE(found.rows.size() == 1);
  CHECK(found.rows[0].kind == OpKind::Forward);
  CHECK(found.rows[0].stage == 0);
  CHECK(found.rows[0].microbatch == 0);
  CHECK_FALSE(found.rows[0].is_factor);
  // The median of three: 1 % / sqrt(3) * 1.25 is 0.7 %.
  CHECK(static_cast<double>(found.rows[0].number) == Approx(1.08e9).epsilon(0.02));
  CHECK(found.sigma == Approx(0.01).epsilon(0.3));
}

TEST_CASE("a pair that is longer in every step has a row by its forward", "[calibrate]") {
  // 0F0, then the pairs of 0Fk and 0B(k-1), then 0B19; the pair of 0F7 takes 50 instead of 30.
  ScheduleBuilder out(Placement::linear(1), 20);
  out.begin_rank(Rank(0));
  out.add(forward(Stage(0), Microbatch(0)));
  for (int k = 1; k < 20; ++k) {
    const Op pair[] = {forward(Stage(0), Microbatch(k)), backward(Stage(0), Microbatch(k - 1))};
    out.add_group(pair);
  }
  out.add(backward(Stage(0), Microbatch(19)));
  Timeline timeline;
  timeline.schedule = std::make_shared<const Schedule>(std::move(out).build());
  timeline.steps = 4;
  Ticks now = 0;
  for (int step = 0; step < timeline.steps; ++step)
    for_each_entry(*timeline.schedule, 0, timeline.schedule->num_ops(),
                   [&](std::size_t first, std::size_t last) {
                     const bool is_long =
                         last - first == 2 && timeline.schedule->ops()[first].microbatch() == Microbatch(7);
                     const Ticks end = now + (is_long ? 50'000 : last - first == 2 ? 30'000 : 20'000);
                     for (std::size_t i = first; i < last; ++i) {
                       timeline.start.push_back(now);
                       timeline.end.push_back(end);
                     }
                     now = end;
                   });
  const SingleOps found = find_single_ops(timeline);
  REQUIRE(found.rows.size() == 1);
  CHECK(found.rows[0].of_group);
  CHECK(found.rows[0].kind == OpKind::Forward);
  CHECK(found.rows[0].stage == 0);
  CHECK(found.rows[0].microbatch == 7);
  CHECK(found.rows[0].number == 50'000);
}

TEST_CASE("a difference of less than half a percent is none", "[calibrate]") {
  const Timeline timeline =
      steps_of(2, [](int, int microbatch, OpKind) -> Ticks { return microbatch == 3 ? 100'400 : 100'000; });
  CHECK(find_single_ops(timeline).rows.empty());
}

TEST_CASE("more exceptions than anybody reads are cut to the largest", "[calibrate]") {
  // 1 stage, 3,000 microbatches, a third of the forwards longer, the first ones most.
  ScheduleBuilder out(Placement::linear(1), 3300);
  out.begin_rank(Rank(0));
  for (int k = 0; k < 3300; ++k) out.add(forward(Stage(0), Microbatch(k)));
  Timeline timeline;
  timeline.schedule = std::make_shared<const Schedule>(std::move(out).build());
  Ticks now = 0;
  for (const Op op : timeline.schedule->ops()) {
    const Ticks k = op.microbatch().value();
    timeline.start.push_back(now);
    now += k % 3 == 0 ? 200'000 - 10 * k : 100'000;
    timeline.end.push_back(now);
  }
  const SingleOps found = find_single_ops(timeline);
  CHECK(found.rows.size() == kMostExceptions);
  CHECK(found.left_out == 100);  // of 1,100
  CHECK(found.rows.front().microbatch == 0);
}

}  // namespace pipeloom::study::calibrate::single_ops_test
