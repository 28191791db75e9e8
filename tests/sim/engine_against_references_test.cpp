// Three answers to the same question, from three programs: the cursor engine, a recursion written from docs/model.md
// (tests/support/reference_times.cpp), and Boost.Graph's longest paths over the Dag.

#include <memory>
#include <utility>
#include <variant>

#include "sim/analysis/validate.hpp"
#include "sim/engine/simulator.hpp"
#include "support/catch.hpp"
#include "support/dag_paths.hpp"
#include "support/random_problem.hpp"
#include "support/reference_times.hpp"

namespace pipeloom::engine_against_references_test {
namespace {

using test::add_besides;
using test::Random;
using test::random_extras;
using test::random_problem;
using test::reference_times;
using test::ReferenceTimes;

constexpr std::uint64_t kProblems = 10'000;

/// The engine's answer as the reference writes it.
ReferenceTimes engine_times(Simulator& simulator, const Schedule& schedule, const Costs& costs,
                            const std::vector<Ticks>& ready = {}) {
  ReferenceTimes times;
  times.start.resize(schedule.num_ops());
  times.end.resize(schedule.num_ops());
  const auto outcome = simulator.evaluate(schedule, costs, default_memory(schedule.placement()), times.start,
                                          times.end, ready);
  REQUIRE(std::holds_alternative<Totals>(outcome));
  return times;
}

/// Earliest starts of entries by Boost.Graph, given to each entry's first op.
bool graph_agrees(const Schedule& schedule, const Costs& costs, const ReferenceTimes& times) {
  const Dag dag(schedule);
  const auto start = test::longest_paths(dag, test::lags_of(dag, costs));
  Ticks last = 0;
  for (Vertex v = 0; v < dag.source(); ++v) {
    if (start[v] != times.start[dag.first_op(v)]) return false;
    last = std::max(last, times.end[dag.last_op(v) - 1]);
  }
  return start[dag.sink()] == last;
}

/// A rank may wait only for one that hangs as well, and the cycle must close.
bool explains_itself(const ScheduleHang& hang, const Schedule& schedule) {
  for (const WaitNode<Op>& node : hang.nodes)
    if (node.missing || schedule.home_of(node.needs) != node.on || schedule.rank_of_op(node.at) != node.rank)
      return false;
  for (std::size_t i = 0; i < hang.cycle.size(); ++i) {
    const auto& waiting = hang.nodes[hang.cycle[i]];
    const auto& next = hang.nodes[hang.cycle[(i + 1) % hang.cycle.size()]];
    if (waiting.on != next.rank) return false;
  }
  return !hang.cycle.empty() && hang.done < schedule.num_entries();
}

bool edges_close(const Dag& dag, const std::vector<Vertex>& cycle) {
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const Vertex to = cycle[(i + 1) % cycle.size()];
    bool found = false;
    for (const std::uint32_t e : dag.out(cycle[i])) found = found || dag.edge(e).target == to;
    if (!found) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("engine, recursion and Boost.Graph give the same times on random legal problems") {
  Simulator simulator;  // one for all: buffers of one run must not leak into the next
  for (std::uint64_t seed = 0; seed < kProblems; ++seed) {
    const auto [schedule, costs] = random_problem(seed);
    INFO("seed " << seed);
    const auto expected = reference_times(*schedule, costs);
    REQUIRE(expected.has_value());
    REQUIRE(engine_times(simulator, *schedule, costs) == *expected);
    REQUIRE(graph_agrees(*schedule, costs, *expected));
  }
}

TEST_CASE("engine, recursion and Boost.Graph agree on what entries, pairs and messages take besides") {
  Simulator simulator;
  for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
    Random random(seed);
    auto [schedule, costs] = random_problem(300'000 + seed);
    add_besides(random, *schedule, costs);
    if (random.chance(30)) schedule = std::make_shared<const Schedule>(random_extras(random, *schedule));
    if (random.chance(30)) {
      for (std::size_t i = 0; i < schedule->num_ops(); ++i)
        costs.per_op.push_back(costs.entry + random.between(0, 100));
      if (schedule->has_groups() && costs.overlap.rule == OverlapRule::Explicit && random.chance(50))
        for (std::size_t i = 0; i < schedule->num_ops(); ++i)
          costs.per_group.push_back(costs.entry + random.between(0, 150));
    }
    INFO("seed " << seed);
    const auto expected = reference_times(*schedule, costs);
    REQUIRE(expected.has_value());
    REQUIRE(engine_times(simulator, *schedule, costs) == *expected);
    REQUIRE(graph_agrees(*schedule, costs, *expected));
    const auto totals = simulator.evaluate(*schedule, costs, default_memory(schedule->placement()));
    const Span whole =
        span_of(Timeline{.schedule = schedule, .start = expected->start, .end = expected->end});
    REQUIRE(std::get<Totals>(totals).makespan == whole.length());
  }
}

TEST_CASE("engine and recursion agree where many tensors wait at once") {
  // Random orders over many microbatches keep far more tensors under way than any sensible schedule does.
  Simulator simulator;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto [schedule, costs] =
        random_problem(100'000 + seed, {.most_ranks = 4, .most_chunks = 2, .most_microbatches = 150});
    INFO("seed " << seed);
    const auto expected = reference_times(*schedule, costs);
    REQUIRE(expected.has_value());
    REQUIRE(engine_times(simulator, *schedule, costs) == *expected);
  }
}

TEST_CASE("engine and recursion agree when ranks become ready at different times") {
  Simulator simulator;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const auto [schedule, costs] = random_problem(200'000 + seed);
    INFO("seed " << seed);
    Random random(seed);
    std::vector<Ticks> ready;
    for (int r = 0; r < schedule->ranks(); ++r) ready.push_back(random.between(0, 400));
    REQUIRE(engine_times(simulator, *schedule, costs, ready) == *reference_times(*schedule, costs, ready));
  }
}

TEST_CASE("random problems are legal") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    INFO("seed " << seed);
    REQUIRE(validate(*random_problem(seed).schedule).empty());
  }
}

TEST_CASE("an order hangs in the engine exactly if its graph has a cycle") {
  Simulator simulator;
  int hanging = 0;
  for (std::uint64_t seed = 0; seed < kProblems; ++seed) {
    const auto problem = random_problem(300'000 + seed, {.group_percent = 15});
    Random random(seed);
    const Schedule schedule = test::with_swapped_ops(random, *problem.schedule, 1 + random.below(3));
    if (!validate_structure(schedule).empty()) continue;  // the engine may rely on the structure
    INFO("seed " << seed);
    const Dag dag(schedule);
    const auto cycle = test::find_cycle(dag);
    const auto outcome = simulator.evaluate(schedule, problem.costs, default_memory(schedule.placement()));
    const auto* hang = std::get_if<ScheduleHang>(&outcome);
    REQUIRE((hang != nullptr) == !cycle.empty());
    if (hang == nullptr) {
      REQUIRE(engine_times(simulator, schedule, problem.costs) == *reference_times(schedule, problem.costs));
      continue;
    }
    ++hanging;
    REQUIRE_FALSE(reference_times(schedule, problem.costs).has_value());
    REQUIRE(explains_itself(*hang, schedule));
    REQUIRE(edges_close(dag, cycle));
  }
  // Both outcomes must be common, or the comparison says little.
  CHECK(hanging > 500);
  CHECK(hanging < 5000);
}

TEST_CASE("two runs of the same problem give the same times and totals") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto first = random_problem(400'000 + seed);
    const auto second = random_problem(400'000 + seed);
    INFO("seed " << seed);
    REQUIRE(*first.schedule == *second.schedule);
    const Timeline a = simulate(first.schedule, first.costs);
    const Timeline b = simulate(second.schedule, second.costs);
    REQUIRE(a.start == b.start);
    REQUIRE(a.end == b.end);
  }
}

}  // namespace pipeloom::engine_against_references_test
