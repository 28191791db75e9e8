#include "gui/model/panels/compare_model.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <thread>

#include <pipeloom/schedule.hpp>
#include "gui/model/chart/chart_part.hpp"
#include "gui/model/session/command.hpp"
#include "gui/part_state.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace compare_model_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using test::kOne;

namespace {

// F 1, B 2, I 1, W 1. Full backward: 9 long; split: 7 long.
const char* const kFull = "0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1";
const char* const kSplit = "0F0 0F1 0I0 0W0 0I1 0W1 | 1F0 1I0 1F1 1I1 1W0 1W1";

void settle(Session& session) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  session.update();
  while (!session.jobs.idle() && std::chrono::steady_clock::now() < limit) {
    session.update();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  session.update();
}

nlohmann::json state_of(Session& session) {
  return nlohmann::json::parse(state_of(session.part<CompareModel>(), session));
}

std::size_t op_named(const RunModel& run, const std::string& text) {
  for (std::size_t op = 0; op < run.schedule->num_ops(); ++op)
    if (to_text(run.schedule->ops()[op]) == text) return op;
  FAIL("no op " << text);
  return 0;
}

/// A run as if measured: times of `like`, rank 1 with its clock `ahead`, and the whole of it `steps` times.
RunPtr measured(const RunModel& like, Ticks ahead, int steps = 1) {
  Timeline timeline = like.timeline;
  for (int step = 1; step < steps; ++step)
    for (std::size_t op = 0; op < like.schedule->num_ops(); ++op) {
      timeline.start.push_back(like.timeline.start[op] + step * 10 * kOne);
      // Each step takes one more than the one before.
      timeline.end.push_back(like.timeline.end[op] + step * 11 * kOne);
    }
  if (steps > 1) {
    // Only the last op of rank 0 grows, so that no ops overlap.
    for (int step = 1; step < steps; ++step)
      for (std::size_t op = 0; op < like.schedule->num_ops(); ++op) {
        const bool last = op + 1 == like.schedule->queue_end(Rank(0));
        timeline.end[timeline.index(step, op)] =
            like.timeline.end[op] + step * 10 * kOne + (last ? step * kOne / 2 : 0);
      }
    timeline.steps = steps;
  }
  for (std::size_t op = like.schedule->queue_begin(Rank(1)); op < like.schedule->queue_end(Rank(1)); ++op)
    for (int step = 0; step < steps; ++step) {
      timeline.start[timeline.index(step, op)] += ahead;
      timeline.end[timeline.index(step, op)] += ahead;
    }
  return build_timed_run(std::move(timeline), "measured", "measured.jsonl");
}

}  // namespace

TEST_CASE("one run is compared with nothing, two are") {
  Session session;
  const RunPtr full = test::open_in(session, test::run_of(kFull));
  auto& compare = session.part<CompareModel>();
  settle(session);
  CHECK(compare.result() == nullptr);
  const RunPtr split = test::open_in(session, test::run_of(kSplit));
  settle(session);
  REQUIRE(compare.result() != nullptr);
  const auto state = state_of(session);
  CHECK(state["metrics"]["makespan"] == nlohmann::json({9.0, 7.0}));
  CHECK(state["metrics"]["idle"] == nlohmann::json({6.0, 2.0}));
  // The four forwards.
  CHECK(state["pairs"][0]["matched"] == 4);
  CHECK(state["pairs"][0]["only_a"] == 4);
  CHECK(state["pairs"][0]["only_b"] == 8);
  run_command(session, "close-run");
  settle(session);
  CHECK(compare.result() == nullptr);
}

TEST_CASE("what of a measured run's gaps is transfer, by the costs of the run beside it") {
  // Each hop takes 1. Measured: all of rank 1 later by 1, its backwards included, and rank 0 goes on after its first gradient 1 later too.
  // Predicted  rank 0: 0F0 0-1, 0F1 1-2, 0B0 6-8, 0B1 9-11; rank 1: 1F0 2-3, 1B0 3-5, 1F1 5-6, 1B1 6-8.
  Session session;
  const RunPtr full =
      test::open_in(session, test::run_of(kFull, {.forward = kOne, .backward = 2 * kOne, .delay = kOne}));
  Timeline later = full->timeline;
  for (std::size_t op = 0; op < full->schedule->num_ops(); ++op) {
    const bool first_two = full->schedule->rank_of_op(op) == Rank(0) && later.start[op] < 2 * kOne;
    if (first_two) continue;
    later.start[op] += kOne;
    later.end[op] += kOne;
  }
  test::open_in(session, build_timed_run(std::move(later), "measured", "measured.jsonl"));
  auto& compare = session.part<CompareModel>();
  settle(session);
  const ComparisonResult* result = compare.result();
  REQUIRE(result != nullptr);
  // One hop before 1F0, 0B0 and 0B1 each, in both runs.
  CHECK(result->causes[0].total.of(IdleCause::Transfer) == 3 * kOne);
  CHECK(result->causes[1].total.of(IdleCause::Transfer) == 3 * kOne);
}

TEST_CASE("any run of the stack is the baseline, and its successor takes its place") {
  Session session;
  test::open_in(session, test::run_of(kFull));
  test::open_in(session, test::run_of(kSplit));
  run_command(session, "set-baseline", "1");
  settle(session);
  CHECK(state_of(session)["metrics"]["makespan"] == nlohmann::json({7.0, 9.0}));
  session.runs[1].run = test::run_of(kSplit);
  settle(session);
  CHECK(state_of(session)["metrics"]["makespan"] == nlohmann::json({7.0, 9.0}));
  run_command(session, "set-baseline", "2");
  CHECK(session.message.text == "set-baseline: error: there are 2 runs; they count from 0");
  run_command(session, "set-baseline", "one");
  CHECK(session.message.kind == MessageKind::Problem);
}

TEST_CASE("an op's counterparts are found from either side, and not where there are none") {
  Session session;
  const RunPtr full = test::open_in(session, test::run_of(kFull));
  const RunPtr split = test::open_in(session, test::run_of(kSplit));
  const RunPtr again = test::open_in(session, test::run_of(kSplit));
  auto& compare = session.part<CompareModel>();
  settle(session);
  const auto of = [&](const RunPtr& run, const std::string& op) {
    return compare.counterparts(session, {run->id, op_named(*run, op)});
  };
  CHECK(of(full, "1F1") ==
        std::vector<OpRef>{{split->id, op_named(*split, "1F1")}, {again->id, op_named(*again, "1F1")}});
  CHECK(of(split, "1F1") ==
        std::vector<OpRef>{{full->id, op_named(*full, "1F1")}, {again->id, op_named(*again, "1F1")}});
  CHECK(of(full, "1B0").empty());
  CHECK(of(split, "1I0").empty());
  // A run that came since, larger than those compared: nothing is known of it until the job is done.
  const RunPtr later = test::open_in(session, test::run_of("0F0 0F1 0F2 0F3 0B0 0B1 0B2 0B3"));
  CHECK(of(later, "0B3").empty());
}

TEST_CASE("colouring by difference hands tints to the chart, and takes them back") {
  Session session;
  const RunPtr full = test::open_in(session, test::run_of(kFull));
  const RunPtr slow = test::open_in(
      session, test::run_of(test::scene(kFull), {kOne, 3 * kOne, kOne, kOne, kOne, 0, {}, TimeUnit::Unit}));
  (void)session.part<CompareModel>();
  settle(session);
  auto& chart = session.part<ChartPart>();
  CHECK(chart.tints.empty());
  run_command(session, "toggle-difference");
  REQUIRE(chart.tints.contains(slow->id));
  CHECK_FALSE(chart.tints.contains(full->id));
  // F takes what it took, B one more: the largest difference.
  const std::vector<std::int8_t>& tint = *chart.tints[slow->id];
  for (std::size_t op = 0; op < tint.size(); ++op)
    CHECK(tint[op] == (slow->schedule->ops()[op].kind() == OpKind::Backward ? 127 : 0));
  run_command(session, "toggle-difference");
  CHECK(chart.tints.empty());
}

TEST_CASE("clocks of a measured run are set right, and back") {
  Session session;
  const RunPtr full = test::open_in(session, test::run_of(kFull));
  const RunPtr read = test::open_in(session, measured(*full, 5 * kOne));
  auto& compare = session.part<CompareModel>();
  settle(session);
  REQUIRE(compare.result() != nullptr);
  const auto& offsets = compare.result()->pairs[0].offsets;
  REQUIRE(offsets.size() == 2);
  CHECK(offsets[1] - offsets[0] == 5 * kOne);
  run_command(session, "align-clocks");
  settle(session);
  CHECK(compare.aligned());
  CHECK(session.runs[1].run->timeline.start == full->timeline.start);
  CHECK(session.runs[1].run->title == "measured (clocks set)");
  run_command(session, "align-clocks");
  settle(session);
  CHECK_FALSE(compare.aligned());
  CHECK(session.runs[1].run == read);
}

TEST_CASE("simulated clocks are one") {
  Session session;
  run_command(session, "align-clocks");
  CHECK(session.message.kind == MessageKind::Problem);
  test::open_in(session, test::run_of(kFull));
  test::open_in(session, test::run_of(kSplit));
  (void)session.part<CompareModel>();
  settle(session);
  run_command(session, "align-clocks");
  CHECK(session.message.text ==
        "align-clocks: error: none of the runs was measured: simulated clocks are one");
}

TEST_CASE("a step of a measured run is chosen, shown and compared") {
  Session session;
  const RunPtr full = test::open_in(session, test::run_of(kFull));
  const RunPtr steps = test::open_in(session, measured(*full, 0, 3));
  auto& compare = session.part<CompareModel>();
  settle(session);
  CHECK(compare.result()->steps[1] == std::vector<Ticks>{9 * kOne, 9 * kOne + kOne / 2, 10 * kOne});
  CHECK(compare.result()->pairs[0].ops.largest.empty());
  compare.choose_step(session, steps->id, 2);
  settle(session);
  // Step 2 starts at 20 and its last op takes one longer.
  CHECK(session.view.range.start <= 20.0 * kOne);
  CHECK(session.view.range.start >= 18.0 * kOne);
  REQUIRE(compare.result()->pairs[0].ops.largest.size() == 1);
  CHECK(compare.result()->pairs[0].ops.largest[0].duration == kOne);
  compare.select(session, 0, 0);
  REQUIRE(session.selection.op);
  CHECK(session.selection.op->op == 2 * steps->schedule->num_ops() + op_named(*steps, "0B1"));
  compare.choose_step(session, steps->id, 3);  // there is none
  CHECK(compare.step() == 2);
}

TEST_CASE("abstract and real times are not compared") {
  Session session;
  const RunPtr full = test::open_in(session, test::run_of(kFull));
  Timeline timeline = full->timeline;
  timeline.unit = TimeUnit::Millisecond;
  test::open_in(session, build_timed_run(std::move(timeline), "measured", ""));
  (void)session.part<CompareModel>();
  settle(session);
  const auto state = state_of(session);
  CHECK(state["metrics"]["makespan"][1].is_null());
  CHECK(state["pairs"][0]["lines"][0] ==
        "times cannot be compared: abstract units here, ms there; set costs.time_unit");
}

TEST_CASE("the next run becomes the active one, round and round") {
  Session session;
  run_command(session, "next-run");
  test::open_in(session, test::run_of(kFull));
  test::open_in(session, test::run_of(kSplit));
  CHECK(session.active == 0);
  run_command(session, "next-run");
  CHECK(session.active == 1);
  run_command(session, "next-run");
  CHECK(session.active == 0);
}

TEST_CASE("ops of runs whose clocks say different things are not coloured by their difference") {
  auto measured = std::make_shared<RunModel>(*test::run_of("0F0 0B0"));
  measured->timeline.unit = TimeUnit::Millisecond;
  const ComparisonResult result = compare_runs({measured, test::run_of("0F0 0B0")});
  REQUIRE(result.pairs.size() == 1);
  CHECK(result.pairs[0].tints == nullptr);
  CHECK(result.pairs[0].ops.largest.empty());
  CHECK(result.pairs[0].lines.front() ==
        "times cannot be compared: ms here, abstract units there; set costs.time_unit");
}

}  // namespace compare_model_test
