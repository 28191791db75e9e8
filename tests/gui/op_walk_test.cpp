#include "gui/model/chart/op_walk.hpp"

#include <algorithm>
#include <string>
#include <thread>

#include <pipeloom/error.hpp>
#include <pipeloom/metrics.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/dependency.hpp"
#include "sim/kinds.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"
#include "support/window_scenes.hpp"

namespace op_walk_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

std::string name(const RunModel& run, std::size_t position) {
  return position == OpWalk::kNone ? "none" : op_name(run, position);
}

/// "0/0F1 queue 2, 1/1B0 gradient 4!": name, link, arrival in whole units; ! for what held the entry up.
std::string text_of(const RunModel& run, const std::vector<Neighbour>& all) {
  std::string text;
  for (const Neighbour& one : all)
    text += (text.empty() ? "" : ", ") + op_name(run, one.position) + " " + std::string(name_of(one.link)) +
            " " + std::to_string(one.arrival / kOne) + (one.binding ? "!" : "");
  return text;
}
std::string before(const RunModel& run, const std::string& op) {
  return text_of(run, OpWalk(run.schedule).predecessors(run, find_op(run, op)));
}
std::string after(const RunModel& run, const std::string& op) {
  return text_of(run, OpWalk(run.schedule).successors(run, find_op(run, op)));
}

}  // namespace

TEST_CASE("what an op waited for, and what held it up") {
  const RunPtr run = run_of(kScene);
  CHECK(before(*run, "0F0") == "");
  CHECK(before(*run, "0F1") == "0/0F0 queue 1!");
  CHECK(before(*run, "1F0") == "0/0F0 activation 1!");
  CHECK(before(*run, "0B0") == "0/0F1 queue 2, 1/1B0 gradient 4!, 0/0F0 activation 1");
  // 1B0 ends at 4, when 0F1's output has long been there.
  CHECK(before(*run, "1F1") == "1/1B0 queue 4!, 0/0F1 activation 2");
  // Its own F is both in front of it and what it waits for: the dependency is named.
  CHECK(before(*run, "1B0") == "1/1F0 queue 2, 1/1F0 activation 2!");
}

TEST_CASE("what waits for an op, by start, its rank's queue last") {
  const RunPtr run = run_of(kScene);
  CHECK(after(*run, "0F0") == "1/1F0 activation 1, 0/0B0 activation 1, 0/0F1 queue 1");
  CHECK(after(*run, "1B0") == "0/0B0 gradient 4, 1/1F1 queue 4");
  CHECK(after(*run, "0B1") == "");
}

TEST_CASE("a transfer arrives later than its producer ends") {
  // 0F0 0-1, arrives at 4; 1F0 4-5, 1B0 5-7, arrives at 10.
  const RunPtr run = run_of("0F0 0B0 | 1F0 1B0", whole_units(3 * kOne));
  CHECK(before(*run, "1F0") == "0/0F0 activation 4!");
  CHECK(before(*run, "0B0") == "0/0F0 queue 1, 1/1B0 gradient 10!, 0/0F0 activation 1");
  CHECK(after(*run, "1B0") == "0/0B0 gradient 10");
}

TEST_CASE("a split backward: W waits for its I only") {
  const RunPtr run = run_of("0F0 0I0 0W0 | 1F0 1I0 1W0");
  // 0F0 0-1, 1F0 1-2, 1I0 2-3, 0I0 3-4, 0W0 4-5.
  CHECK(before(*run, "0W0") == "0/0I0 queue 4, 0/0I0 gradient 4!");
  CHECK(after(*run, "1I0") == "0/0I0 gradient 3, 1/1W0 gradient 3, 1/1W0 queue 3");
}

TEST_CASE("a group waits for all that its ops wait for, and not for itself") {
  // Rank 0 runs 0F1 and 0B0 together when 1B0 is there.
  const RunPtr run = run_of("0F0 (0F1;0B0)OVERLAP_F_B 0B1 | 1F0 1B0 1F1 1B1");
  const std::size_t forward = find_op(*run, "0F1");
  CHECK(entry_at(*run, forward) == std::pair<std::size_t, std::size_t>(1, 3));
  CHECK(entry_at(*run, forward + 1) == std::pair<std::size_t, std::size_t>(1, 3));
  // 0F0 0-1, 1F0 1-2, 1B0 2-4, the group 4-7, 1F1 7-8, 1B1 8-10.
  CHECK(before(*run, "0F1") == "0/0F0 queue 1, 1/1B0 gradient 4!, 0/0F0 activation 1");
  CHECK(before(*run, "0B0") == "0/0F0 queue 1, 1/1B0 gradient 4!, 0/0F0 activation 1");
  CHECK(before(*run, "0B1") == "0/0B0 queue 7, 1/1B1 gradient 10!, 0/0F1 activation 7");
  CHECK(after(*run, "0F1") == "1/1F1 activation 7, 0/0B1 activation 7, 0/0B1 queue 7");
}

TEST_CASE("replicas: the microbatch says which copy of a stage is meant") {
  // Microbatch 0 runs down, 1 runs up: stage 0 is on rank 0 for the one and on rank 1 for the other.
  const RunPtr run = run_of("0F0 1F1 1B1 0B0 | 0F1 1F0 1B0 0B1");
  CHECK(run->schedule->placement().replicas() == 2);
  CHECK(before(*run, "1/1F0") == "1/0F1 queue 1, 0/0F0 activation 1!");
  CHECK(before(*run, "0/1F1") == "0/0F0 queue 1, 1/0F1 activation 1!");
}

TEST_CASE("sliced sequences wait for their neighbour slices") {
  const RunPtr run = run_of("0F0.0 0F0.1 0B0.1 0B0.0");
  CHECK(before(*run, "0F0.1") == "0/0F0.0 queue 1, 0/0F0.0 slice 1!");
  CHECK(before(*run, "0B0.0") == "0/0B0.1 queue 4, 0/0F0.0 activation 1, 0/0B0.1 slice 4!");
  CHECK(after(*run, "0B0.1") == "0/0B0.0 slice 4, 0/0B0.0 queue 4");
}

TEST_CASE("reloaded and recomputed activations are waited for") {
  const RunPtr recomputed = run_of("0F0 0R0 0B0");
  CHECK(before(*recomputed, "0B0") == "0/0R0 queue 2, 0/0R0 activation 2!, 0/0F0 activation 1");
  const RunPtr reloaded = run_of("0F0 0O0 0L0 0B0");
  // O 1-2 and L 2-3 run on the copy stream; B waits for L.
  CHECK(before(*reloaded, "0B0") == "0/0F0 queue 1, 0/0L0 reload 3!, 0/0F0 activation 1");
  CHECK(after(*reloaded, "0F0") == "0/0O0 activation 1, 0/0B0 activation 1, 0/0B0 queue 1");
}

TEST_CASE("the index finds every op of random schedules, and producers agree with the engine's") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const test::RandomProblem problem = test::random_problem(seed);
    const std::shared_ptr<const Schedule>& schedule = problem.schedule;
    const OpWalk walk(schedule);
    const DependencyMap map(*schedule);
    auto run = std::make_shared<RunModel>();
    run->schedule = schedule;
    run->costs = std::make_shared<const Costs>(problem.costs);
    run->timeline = simulate(schedule, problem.costs);
    for (std::size_t i = 0; i < schedule->num_ops(); ++i) {
      REQUIRE(walk.find(schedule->ops()[i]) == i);
      const std::uint32_t producer = map.producer_of(i);
      if (producer == DependencyMap::kNone) continue;
      const auto [first, last] = entry_at(*run, i);
      if (producer >= first && producer < last) continue;
      const auto all = walk.predecessors(*run, i);
      REQUIRE(std::any_of(all.begin(), all.end(), [&](const Neighbour& one) {
        return one.link != DependencyKind::Queue && one.position == producer;
      }));
    }
  }
}

TEST_CASE("whatever held an op up ends no later than it starts, and without a gap exactly then") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const test::RandomProblem problem = test::random_problem(seed);
    const std::shared_ptr<const Schedule>& schedule = problem.schedule;
    const OpWalk walk(schedule);
    RunModel run;
    run.schedule = schedule;
    run.costs = std::make_shared<const Costs>(problem.costs);
    run.timeline = simulate(schedule, problem.costs);
    for (std::size_t i = 0; i < schedule->num_ops(); ++i) {
      const auto [first, last] = entry_at(run, i);
      if (first != i || is_copy(op_at(run, i).kind())) continue;
      for (const Neighbour& one : walk.predecessors(run, i))
        if (one.binding) REQUIRE(one.arrival == run.timeline.start[i]);
    }
  }
}

TEST_CASE("an op that no queue has is not found") {
  const RunPtr run = run_of(kScene);
  const OpWalk walk(run->schedule);
  CHECK(walk.find(backward_input(Stage(0), Microbatch(0))) == OpWalk::kNone);
  CHECK(walk.find(forward(Stage(2), Microbatch(0))) == OpWalk::kNone);
  CHECK(walk.find(forward(Stage(0), Microbatch(2))) == OpWalk::kNone);
  CHECK(walk.find(forward(Stage(0), Microbatch(0)).with_slice(0)) == OpWalk::kNone);
}

TEST_CASE("all ops of a microbatch, in time") {
  const RunPtr run = run_of(kScene);
  std::string text;
  for (const std::size_t op : OpWalk(run->schedule).microbatch(*run, Microbatch(1), 0))
    text += name(*run, op) + " ";
  CHECK(text == "0/0F1 1/1F1 1/1B1 0/0B1 ");
}

TEST_CASE("steps of a run are apart") {
  const RunPtr run = run_of(scene(kScene), whole_units(), 2);
  const OpWalk walk(run->schedule);
  const std::size_t second = 8 + 2;  // 0B0 of step 1
  CHECK(step_at(*run, second) == 1);
  CHECK(walk.back(*run, second) == 8 + 5);
  CHECK(next_in_queue(*run, 8 + 3) == OpWalk::kNone);
  CHECK(previous_in_queue(*run, 8) == OpWalk::kNone);
}

TEST_CASE("the op of a rank at a time, or the nearest") {
  const RunPtr run = run_of(kScene);
  CHECK(name(*run, op_near(*run, Rank(0), 0)) == "0/0F0");
  CHECK(name(*run, op_near(*run, Rank(0), kOne)) == "0/0F1");
  CHECK(name(*run, op_near(*run, Rank(0), 2 * kOne + 1)) ==
        "0/0F1");  // the gap from 2 to 4: nearer to its start
  CHECK(name(*run, op_near(*run, Rank(0), 3 * kOne + 1)) == "0/0B0");
  CHECK(name(*run, op_near(*run, Rank(0), 100 * kOne)) == "0/0B1");
  CHECK(name(*run, op_near(*run, Rank(1), 0)) == "1/1F0");
}

TEST_CASE("a gap knows what it waited for and what would help") {
  const RunPtr run = run_of(kScene);
  const OpWalk walk(run->schedule);
  const auto cause = [&](int rank, std::size_t span) {
    return cause_of(walk, *run, {run->id, Rank(rank), span});
  };

  // Rank 0 from 2 to 4: for 1B0. The rank itself is free at 2.
  const GapCause first = cause(0, 0);
  CHECK(first.span == IdleSpan{2 * kOne, 4 * kOne, IdleCause::Warmup});
  CHECK(name(*run, first.before) == "0/0B0");
  CHECK(name(*run, first.producer) == "1/1B0");
  CHECK(first.explains);
  CHECK(first.room == 2 * kOne);
  CHECK(first.next_producer == OpWalk::kNone);
  CHECK(to_text(first, *run) ==
        "0B0 of rank 0 waits for 1B0 of rank 1, which ends at 4 units. 0B0 would start up to 2 units sooner "
        "if that "
        "came sooner.");

  CHECK(name(*run, cause(1, 0).producer) == "0/0F0");
  CHECK(to_text(cause(1, 1), *run) ==
        "Rank 1 has nothing left to do; the step ends at 9 units with 0B1 of rank 0.");
}

TEST_CASE("a gap with a transfer has two parts and one cause, the second best sets the room") {
  // Rank 0: 0F0 0-1; the group of 0F1 and 0B0 waits for 1B0, which ends at 7 and arrives at 10.
  const RunPtr run = run_of("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1", whole_units(3 * kOne));
  const OpWalk walk(run->schedule);
  // 1F0 4-5, 1B0 5-7; rank 0 is idle from 2 to 10: waits to 7, then the gradient is under way.
  CHECK(run->idle[0][0] == IdleSpan{2 * kOne, 7 * kOne, IdleCause::Warmup});
  CHECK(run->idle[0][1] == IdleSpan{7 * kOne, 10 * kOne, IdleCause::Transfer});
  for (const std::size_t part : {0U, 1U}) {
    const GapCause cause = cause_of(walk, *run, {run->id, Rank(0), part});
    CHECK(name(*run, cause.producer) == "1/1B0");
    CHECK(cause.produced == 7 * kOne);
    CHECK(cause.arrival == 10 * kOne);
    CHECK(cause.room == 8 * kOne);
  }
}

TEST_CASE("what waits longer than the producer is named") {
  // W is late because I is; I of rank 0 waits for the gradient and for its own rank, busy with another forward.
  const RunPtr run = run_of("0F0 0B0 | 1F0 1F1 1B0 1B1 | 2F1 2F0 2B0 2B1 | 0F1 0B1", whole_units());
  const OpWalk walk(run->schedule);
  for (Rank rank{0}; rank < Rank(run->ranks()); ++rank)
    for (std::size_t span = 0; span < run->idle[rank.at()].size(); ++span) {
      const GapCause cause = cause_of(walk, *run, {run->id, rank, span});
      if (cause.before == OpWalk::kNone) continue;
      REQUIRE(cause.explains);
      REQUIRE(cause.room > 0);
      REQUIRE(cause.room <= cause.arrival);
    }
}

TEST_CASE("ops are read with and without their rank") {
  const RunPtr run = run_of(kScene);
  CHECK(find_op(*run, "1/1B0") == 5);
  CHECK(find_op(*run, "1B0") == 5);
  CHECK_THROWS_AS(find_op(*run, "0/1B0"), InputError);
  CHECK_THROWS_AS(find_op(*run, "2/1B0"), InputError);
  CHECK_THROWS_AS(find_op(*run, ""), InputError);
  CHECK_THROWS_AS(find_op(*run, "x/1B0"), InputError);
  CHECK(find_gap(*run, "1/1") == GapRef{run->id, Rank(1), 1});
  CHECK_THROWS_AS(find_gap(*run, "1/2"), InputError);
  CHECK_THROWS_AS(find_gap(*run, "1"), InputError);
}

TEST_CASE("the index of a large run is made by a job, and what waits for it runs then") {
  Session session;
  // 4 * 40 000 forwards and as many backwards: more than is made at once.
  const RunPtr run = run_of(test::one_f_one_b(4, 40'000), whole_units());
  REQUIRE(run->schedule->num_ops() > kWalkNow);
  session.add_run(run, false);
  OpWalks& walks = session.part<OpWalks>();
  std::size_t found = 0;
  walks.with(session, run,
             [&](Session&, const OpWalk& walk) { found = walk.find(forward(Stage(1), Microbatch(0))); });
  CHECK(found == 0);
  while (!session.idle()) {
    session.update();
    std::this_thread::yield();
  }
  session.update();
  CHECK(found == 80'000);
  CHECK(walks.find(session, run) != nullptr);
}

}  // namespace op_walk_test
