// Bounds, critical path, slack, times and memory are found by walking the queues. Here the dependency graph, and the same sums written
// down plainly, say what they must be.

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "sim/analysis/bounds.hpp"
#include "sim/analysis/critical_path.hpp"
#include "sim/analysis/idle_causes.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/kinds.hpp"
#include "sim/memory.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"
#include "support/scenes.hpp"
#include "tests/sim/graph_references.hpp"

namespace pipeloom::queue_walks_test {

namespace {

using test::scene;

struct Problem {
  std::shared_ptr<const Schedule> schedule;
  Costs costs;
};

/// Every third seed without groups, every other with recomputation, copies and slices.
Problem problem(std::uint64_t seed) {
  auto [schedule, costs] = test::random_problem(seed, {.group_percent = seed % 3 == 0 ? 0 : 30});
  if (seed % 2 == 0) return {schedule, costs};
  test::Random random(seed);
  auto extended = std::make_shared<const Schedule>(test::random_extras(random, *schedule));
  return {extended, test::random_costs(random, *extended)};
}

void for_each_problem(const std::function<void(const Problem&)>& check) {
  for (std::uint64_t seed = 0; seed < 900; ++seed) {
    INFO("seed " << seed);
    check(problem(2'300'000 + seed));
  }
}

/// With what entries, pairs and messages take besides, which chains of data know nothing of.
void for_each_problem_and_besides(const std::function<void(const Problem&)>& check) {
  for_each_problem(check);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    INFO("besides, seed " << seed);
    test::Random random(seed);
    Problem one = problem(2'400'000 + seed);
    test::add_besides(random, *one.schedule, one.costs);
    check(one);
  }
}

/// The same timeline as a measurement could have it: ends and starts moved by up to three ticks.
Timeline jittered(Timeline timeline, std::uint64_t seed) {
  test::Random random(seed);
  for (std::size_t i = 0; i < timeline.start.size(); ++i) {
    timeline.start[i] += random.between(0, 3);
    timeline.end[i] = std::max(timeline.start[i], timeline.end[i] + random.between(-3, 3));
  }
  return timeline;
}

/// As walk_ranks() documents it, written down plainly.
RankTimes plain_times(const Timeline& timeline, const Costs& costs, Rank rank) {
  const Schedule& schedule = *timeline.schedule;
  RankTimes times;
  times.window = span_of(timeline, rank);
  for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                 [&](std::size_t first, std::size_t last) {
                   if (is_copy(schedule.ops()[first].kind())) return;
                   Ticks end = timeline.end_of(first);
                   for (std::size_t i = first; i < last; ++i) end = std::max(end, timeline.end_of(i));
                   times.busy += end - timeline.start_of(first);
                 });
  for (const IdleSpan& span : idle_spans(timeline, costs, rank))
    times.idle.of(span.cause) += span.end - span.start;
  return times;
}

}  // namespace

TEST_CASE("chains of microbatches that run alone: 1F1B on two ranks") {
  // F 3, B 5, hop 1. Rank 0: F starts at 0, and 1 + 3 (F on rank 1) + 5 (B there) + 1 + 5 (own B) follow its end: 15; B starts after
  // 3 + 1 + 3 + 5 + 1 = 13, nothing follows. Rank 1: F after 3 + 1, then 5 + 1 + 5 = 11; B after 4 + 3 = 7, then 1 + 5 = 6.
  const auto schedule = test::one_f_one_b(2, 4);
  const auto jobs = test::chain_jobs(
      *schedule, uniform_costs(schedule->placement(), {.forward = 3, .backward = 5, .delay = 1}));
  REQUIRE(jobs.size() == 2);
  CHECK(jobs[0] == std::vector<ChainJob>{{0, 15, 4 * 3, 3}, {13, 0, 4 * 5, 5}});
  CHECK(jobs[1] == std::vector<ChainJob>{{4, 11, 4 * 3, 3}, {7, 6, 4 * 5, 5}});
}

TEST_CASE("chains of data are those of the graph") {
  for_each_problem([](const Problem& problem) {
    REQUIRE(test::chain_jobs(*problem.schedule, problem.costs) ==
            test::graph_chain_jobs(*problem.schedule, problem.costs));
  });
}

TEST_CASE("what a rank's chains have in common") {
  for_each_problem([](const Problem& problem) {
    const Chains chains(*problem.schedule, problem.costs);
    const auto jobs = test::graph_chain_jobs(*problem.schedule, problem.costs);
    for (Rank rank{0}; rank < Rank(problem.schedule->ranks()); ++rank) {
      RankChains expected{.head = kMaxTicks, .tail = kMaxTicks};
      for (const ChainJob& job : jobs[rank.at()]) {
        expected.any = true;
        expected.head = std::min(expected.head, job.head);
        expected.tail = std::min(expected.tail, job.tail);
        expected.work += job.work;
        expected.longest = std::max(expected.longest, job.head + job.longest + job.tail);
      }
      if (!expected.any) expected = {};
      REQUIRE(chains.of(rank) == expected);
    }
  });
}

TEST_CASE("chains where only some microbatches are split or recomputed") {
  // Microbatch 0 goes back in one op of 2, microbatch 1 as I and W of 1 each: the chain is shorter by one.
  for (const char* text :
       {"0F0 0F1 0B0 0I1 0W1 | 1F0 1F1 1B0 1B1", "0F0 0F1 0R1 0B0 0B1 | 1F0 1F1 1B0 1I1 1W1"}) {
    const auto schedule = scene(text);
    Costs costs = uniform_costs(schedule->placement(), {.delay = 2});
    costs.duration[index_of(OpKind::Recompute)] = {9, 9};
    CHECK(test::chain_jobs(*schedule, costs) == test::graph_chain_jobs(*schedule, costs));
  }
}

TEST_CASE("the critical path is that of the graph, of measured timelines too") {
  std::uint64_t seed = 0;
  for_each_problem_and_besides([&](const Problem& problem) {
    const Timeline timeline = simulate(problem.schedule, problem.costs);
    for (const Timeline& one : {timeline, jittered(timeline, ++seed)}) {
      const CriticalPath found = critical_path(one, problem.costs);
      const CriticalPath expected = test::graph_critical_path(one, problem.costs);
      REQUIRE(found.length == expected.length);
      REQUIRE(found.entries == expected.entries);
    }
  });
}

TEST_CASE("slack is that of the graph") {
  for_each_problem_and_besides([](const Problem& problem) {
    REQUIRE(slack(simulate(problem.schedule, problem.costs), problem.costs) ==
            test::graph_slack(*problem.schedule, problem.costs));
  });
}

TEST_CASE("one walk finds busy time, window and causes of every rank") {
  std::uint64_t seed = 0;
  for_each_problem_and_besides([&](const Problem& problem) {
    const Timeline timeline = simulate(problem.schedule, problem.costs);
    for (const Timeline& one : {timeline, jittered(timeline, ++seed)}) {
      const StepTimes times = walk_ranks(one, &problem.costs);
      REQUIRE(times.whole == span_of(one));
      for (Rank rank{0}; rank < Rank(problem.schedule->ranks()); ++rank) {
        const RankTimes expected = plain_times(one, problem.costs, rank);
        REQUIRE(times.ranks[rank.at()].busy == expected.busy);
        REQUIRE(times.ranks[rank.at()].window == expected.window);
        REQUIRE(times.ranks[rank.at()].idle == expected.idle);
        REQUIRE(walk_ranks(one, nullptr).ranks[rank.at()].idle == IdleCauses());
      }
    }
  });
}

TEST_CASE("peaks are those of the curve, by queue or by times") {
  std::uint64_t seed = 0;
  for_each_problem([&](const Problem& problem) {
    test::Random random(++seed);
    MemoryModel model = test::random_memory(random, problem.schedule->placement());
    if (seed % 4 != 0) model.receive.assign(model.receive.size(), 0);
    if (seed % 5 == 0)  // I keeps more than it frees
      for (std::size_t slot = 0; slot < model.activation.size(); ++slot) model.released_at_input[slot] = -7;
    const Timeline timeline = simulate(problem.schedule, problem.costs);
    for (const Timeline& one : {timeline, jittered(timeline, seed)}) {
      const auto peaks = measure_memory(one, model);
      for (Rank rank{0}; rank < Rank(problem.schedule->ranks()); ++rank) {
        Bytes most = 0;
        for (const MemoryStep& step : memory_curve(one, model, rank)) most = std::max(most, step.bytes);
        REQUIRE(peaks[rank.at()].peak_bytes == most);
        MemoryModel limited = model;
        limited.limit.assign(static_cast<std::size_t>(problem.schedule->ranks()), Bytes{1} << 60);
        limited.limit[rank.at()] = peaks[rank.at()].peak_bytes;
        REQUIRE_FALSE(find_over_limit(one, limited));
        if (peaks[rank.at()].peak_bytes == 0) continue;
        limited.limit[rank.at()] -= 1;
        const auto over = find_over_limit(one, limited);
        // A peak of what is always held is in no op's account.
        if (over) REQUIRE(over->op == problem.schedule->ops()[peaks[rank.at()].peak_op].with_joined(false));
      }
    }
  });
}

}  // namespace pipeloom::queue_walks_test
