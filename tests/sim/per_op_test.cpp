// Durations of single ops (Costs::per_op): every engine reads them, and where they say what the tables say nothing changes.

#include <variant>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "sim/analysis/critical_path.hpp"
#include "sim/analysis/metrics.hpp"
#include "sim/engine/fixed_order.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/messages/program_engine.hpp"
#include "support/catch.hpp"
#include "support/dag_paths.hpp"
#include "support/eager_program.hpp"
#include "support/event_engine.hpp"
#include "support/random_problem.hpp"
#include "support/reference_times.hpp"

namespace pipeloom::per_op_test {
namespace {

/// A random problem, with copies, recomputation and slices in every other one.
test::RandomProblem problem_of(std::uint64_t seed) {
  test::RandomProblem problem = test::random_problem(seed);
  if (seed % 2 == 0) return problem;
  test::Random random(seed);
  problem.schedule = std::make_shared<const Schedule>(test::random_extras(random, *problem.schedule));
  problem.costs = test::random_costs(random, *problem.schedule);
  return problem;
}

/// What the tables say, op by op.
std::vector<Ticks> durations_of(const Schedule& schedule, const Costs& costs) {
  std::vector<Ticks> out;
  for (const Op op : schedule.ops()) out.push_back(costs.table_duration(op, schedule.slot_of(op)));
  return out;
}

std::vector<Ticks> random_durations(const Schedule& schedule, std::uint64_t seed) {
  test::Random random(seed);
  std::vector<Ticks> out;
  for (std::size_t i = 0; i < schedule.num_ops(); ++i)
    out.push_back(random.chance(10) ? 0 : random.between(1, 60));
  return out;
}

/// Of their own, for an order with groups: only an explicit rule has such.
void give_groups_times(const Schedule& schedule, std::uint64_t seed, Costs& costs) {
  if (!schedule.has_groups()) return;
  costs.overlap = {.rule = OverlapRule::Explicit,
                   .duration = std::vector<Ticks>(static_cast<std::size_t>(schedule.placement().slots()), 1)};
  costs.per_group = random_durations(schedule, seed + 1);
}

Totals totals_of(const Schedule& schedule, const Costs& costs, const MemoryModel& memory) {
  return std::get<Totals>(Simulator().evaluate(schedule, costs, memory));
}

}  // namespace

TEST_CASE("durations op by op that the tables have too change nothing") {
  for (std::uint64_t seed = 0; seed < 1'500; ++seed) {
    INFO("seed " << seed);
    const auto [schedule, costs] = problem_of(6'000'000 + seed);
    Costs bound = costs;
    bound.per_op = durations_of(*schedule, costs);
    const Timeline expected = simulate(schedule, costs);
    const Timeline found = simulate(schedule, bound);
    REQUIRE(found.start == expected.start);
    REQUIRE(found.end == expected.end);
    test::Random random(seed);
    const MemoryModel memory = test::random_memory(random, schedule->placement());
    const Totals of_tables = totals_of(*schedule, costs, memory);
    const Totals of_ops = totals_of(*schedule, bound, memory);
    REQUIRE(of_ops.makespan == of_tables.makespan);
    REQUIRE(of_ops.busy == of_tables.busy);
    REQUIRE(of_ops.first_start == of_tables.first_start);
    REQUIRE(of_ops.peak_live == of_tables.peak_live);
    REQUIRE(of_ops.peak_activation_bytes == of_tables.peak_activation_bytes);
    const Metrics before = measure(expected, costs, memory, Steps{});
    const Metrics after = measure(found, bound, memory, Steps{});
    REQUIRE(after.lower_bound.value == before.lower_bound.value);
    REQUIRE(after.bubble_ratio == before.bubble_ratio);
    REQUIRE(critical_path(found, bound).entries == critical_path(expected, costs).entries);
  }
}

TEST_CASE("cursors, events, recursion, graph, fixed orders and programs agree on durations of single ops") {
  std::vector<Ticks> scratch;
  for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
    INFO("seed " << seed);
    auto [schedule, costs] = problem_of(6'100'000 + seed);
    costs.per_op = random_durations(*schedule, seed);
    if (seed % 3 == 0) give_groups_times(*schedule, seed, costs);
    const auto expected = test::reference_times(*schedule, costs);
    REQUIRE(expected.has_value());
    const Timeline cursors = simulate(schedule, costs);
    REQUIRE(cursors.start == expected->start);
    REQUIRE(cursors.end == expected->end);
    LatencyNetwork network(costs);
    REQUIRE(std::get<Timeline>(simulate_events(schedule, costs, network)).end == expected->end);
    const Dag dag(*schedule);
    const auto starts = test::longest_paths(dag, test::lags_of(dag, costs));
    for (Vertex v = 0; v < dag.source(); ++v) REQUIRE(starts[v] == expected->start[dag.first_op(v)]);
    // A program sends behind the whole group, a fixed order has no extras: neither takes parts one after another.
    if (costs.overlap.rule == OverlapRule::Sequential) continue;
    const auto run = run_program(test::eager_program(schedule), costs, {});
    REQUIRE(std::get<ProgramRun>(run).timeline.end == expected->end);
    if (schedule->is_extended()) continue;
    const FixedOrder order(*schedule, true);
    REQUIRE(FixedOrder::supports(costs, true));
    REQUIRE_FALSE(FixedOrder::supports(costs));
    const Totals totals = totals_of(*schedule, costs, default_memory(schedule->placement()));
    REQUIRE(order.makespan(costs, scratch) == totals.makespan);
    Totals found;
    order.totals(costs, scratch, found);
    REQUIRE(found.busy == totals.busy);
    REQUIRE(found.first_start == totals.first_start);
    REQUIRE(found.last_end == totals.last_end);
  }
}

TEST_CASE("metrics of durations of single ops add up") {
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    INFO("seed " << seed);
    auto [schedule, costs] = problem_of(6'200'000 + seed);
    costs.per_op = random_durations(*schedule, seed);
    if (seed % 3 == 0) give_groups_times(*schedule, seed, costs);
    const Timeline timeline = simulate(schedule, costs);
    const Metrics metrics = measure(timeline, costs, default_memory(schedule->placement()), Steps{});
    REQUIRE(metrics.lower_bound.value <= metrics.makespan);
    for (const RankMetrics& rank : metrics.ranks) {
      Ticks idle = 0;
      for (int cause = 0; cause < static_cast<int>(kIdleCauses); ++cause)
        idle += rank.idle_causes.of(static_cast<IdleCause>(cause));
      REQUIRE(idle == rank.idle);
    }
    REQUIRE(critical_path(timeline, costs).length == metrics.makespan);
  }
}

TEST_CASE("scenarios with and without durations of single ops run together") {
  std::vector<Ticks> scratch;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    const auto problem = test::random_problem(6'300'000 + seed);
    test::Random random(seed);
    std::vector<Costs> costs;
    for (int i = 0; i < 7; ++i) {
      costs.push_back(test::random_costs(random, *problem.schedule));
      costs.back().microbatch_scale.clear();
      if (costs.back().overlap.rule == OverlapRule::Sequential) costs.back().overlap.rule = OverlapRule::Sum;
      if (i % 3 == 1) costs.back().per_op = random_durations(*problem.schedule, seed);
    }
    const FixedOrder order(*problem.schedule, true);
    std::vector<Ticks> makespans(costs.size());
    order.makespans(costs, makespans, scratch);
    for (std::size_t i = 0; i < costs.size(); ++i)
      REQUIRE(makespans[i] ==
              totals_of(*problem.schedule, costs[i], default_memory(problem.schedule->placement())).makespan);
  }
}

}  // namespace pipeloom::per_op_test
