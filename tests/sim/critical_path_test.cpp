#include "sim/analysis/critical_path.hpp"

#include <memory>
#include <string>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "sim/engine/simulator.hpp"
#include "support/catch.hpp"
#include "support/dag_paths.hpp"
#include "support/random_problem.hpp"
#include "support/scenes.hpp"

namespace pipeloom::critical_path_test {
namespace {

using test::scene;

std::string path_of(const Schedule& schedule, const CriticalPath& path) {
  std::string text;
  for (const std::size_t op : path.entries) text += (text.empty() ? "" : " ") + to_text(schedule.ops()[op]);
  return text;
}

/// A's start plus the lag of some edge from a to b is b's start: b waits for a and for nothing later.
bool binds(const Dag& dag, const std::vector<Ticks>& lags, const Timeline& timeline, std::size_t a,
           std::size_t b) {
  for (std::uint32_t e = 0; e < dag.num_edges(); ++e) {
    const auto& edge = dag.edge(e);
    if (edge.source >= dag.source() || edge.target >= dag.source()) continue;
    if (dag.first_op(edge.source) == a && dag.first_op(edge.target) == b &&
        timeline.start_of(a) + lags[e] == timeline.start_of(b))
      return true;
  }
  return false;
}

Ticks makespan_of(const std::shared_ptr<const Schedule>& schedule, const Costs& costs) {
  return span_of(simulate(schedule, costs)).length();
}

}  // namespace

TEST_CASE("the critical path of two ranks goes down and comes back") {
  // F = 1, B = 2, delay 1: 0F0 0-1, 1F0 2-3, 1B0 3-5, 1F1 5-6, 1B1 6-8, 0B1 9-11.
  const auto schedule = scene("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1");
  const Costs costs = uniform_costs(schedule->placement(), {.forward = 1, .backward = 2, .delay = 1});
  const Timeline timeline = simulate(schedule, costs);
  const CriticalPath path = critical_path(timeline, costs);
  CHECK(path.length == 11);
  CHECK(path_of(*schedule, path) == "0F0 1F0 1B0 1F1 1B1 0B1");
  // 0F1 ends at 2 and may end at 4, for 1F1 needs it at 5; 0B0 ends at 8 and may end at 9.
  CHECK(slack(timeline, costs) == std::vector<Ticks>{0, 2, 1, 0, 0, 0, 0, 0});
}

TEST_CASE("the ops of a group share their slack") {
  const auto schedule = scene("0F0 (0F1;0B0)OVERLAP_F_B 0B1 | 1F0 1B0 1F1 1B1");
  const Costs costs = uniform_costs(schedule->placement(), {});
  const auto slacks = slack(simulate(schedule, costs), costs);
  CHECK(slacks[1] == slacks[2]);
  // 0F0 1F0 1B0 group 1F1 1B1 0B1: everything waits for everything, and the group is one entry.
  CHECK(critical_path(simulate(schedule, costs), costs).entries.size() == 7);
}

TEST_CASE("the path is as long as the makespan, each entry waits for the one before, and none has slack") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const auto [schedule, costs] = test::random_problem(1'800'000 + seed);
    INFO("seed " << seed);
    const Timeline timeline = simulate(schedule, costs);
    const CriticalPath path = critical_path(timeline, costs);
    REQUIRE(path.length == span_of(timeline).length());
    REQUIRE_FALSE(path.entries.empty());
    REQUIRE(timeline.start_of(path.entries.front()) == 0);
    const Dag dag(*schedule);
    const auto lags = test::lags_of(dag, costs);
    for (std::size_t i = 1; i < path.entries.size(); ++i)
      REQUIRE(binds(dag, lags, timeline, path.entries[i - 1], path.entries[i]));
    const auto slacks = slack(timeline, costs);
    for (const std::size_t op : path.entries) REQUIRE(slacks[op] == 0);
    for (const Ticks ticks : slacks) REQUIRE(ticks >= 0);
  }
}

TEST_CASE("an op may last longer by its slack, and by not a tick more") {
  // With one microbatch each duration belongs to one op, so a longer duration delays that op's end and nothing else.
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    auto [schedule, costs] =
        test::random_problem(1'900'000 + seed, {.most_microbatches = 1, .group_percent = 0});
    costs.microbatch_scale.clear();
    INFO("seed " << seed);
    const Timeline timeline = simulate(schedule, costs);
    const Ticks makespan = span_of(timeline).length();
    const auto slacks = slack(timeline, costs);
    for (std::size_t i = 0; i < schedule->num_ops(); ++i) {
      const Op op = schedule->ops()[i];
      Ticks& duration = costs.duration[index_of(op.kind())][schedule->slot_of(op).at()];
      duration += slacks[i];
      REQUIRE(makespan_of(schedule, costs) == makespan);
      duration += 1;
      REQUIRE(makespan_of(schedule, costs) > makespan);
      duration -= slacks[i] + 1;
    }
  }
}

TEST_CASE("an entry may start later by its slack, groups and all microbatches included") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const auto [schedule, costs] = test::random_problem(2'000'000 + seed, {.most_microbatches = 4});
    INFO("seed " << seed);
    const Timeline timeline = simulate(schedule, costs);
    const Ticks makespan = span_of(timeline).length();
    const auto slacks = slack(timeline, costs);
    const Dag dag(*schedule);
    auto lags = test::lags_of(dag, costs);
    for (Vertex v = 0; v < dag.source(); ++v) {
      // Starting later by d is the same as everything that follows coming d later.
      const auto makespan_if_later = [&](Ticks d) {
        for (const std::uint32_t e : dag.out(v)) lags[e] += d;
        const Ticks result = test::longest_paths(dag, lags)[dag.sink()];
        for (const std::uint32_t e : dag.out(v)) lags[e] -= d;
        return result;
      };
      const Ticks own = slacks[dag.first_op(v)];
      REQUIRE(makespan_if_later(own) == makespan);
      REQUIRE(makespan_if_later(own + 1) == makespan + 1);
    }
  }
}

}  // namespace pipeloom::critical_path_test
