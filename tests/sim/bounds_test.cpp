#include "sim/analysis/bounds.hpp"

#include <algorithm>
#include <variant>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "sim/engine/simulator.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"
#include "support/scenes.hpp"
#include "tests/sim/graph_references.hpp"

namespace pipeloom::bounds_test {
namespace {

using test::scene;

LowerBound bound_of(const std::shared_ptr<const Schedule>& schedule, const UniformCosts& costs) {
  return lower_bound(*schedule, uniform_costs(schedule->placement(), costs), {});
}

/// All orders of a rank's ops in which F comes before B or I, and I before W.
std::vector<std::vector<Op>> all_orders(const Schedule& schedule, Rank rank) {
  const auto queue = schedule.queue(rank);
  std::vector<Op> ops(queue.begin(), queue.end());
  std::sort(ops.begin(), ops.end());  // by kind: F, B, I, W
  std::vector<std::vector<Op>> orders;
  do {
    const auto place = [&](Op op) { return std::find(ops.begin(), ops.end(), op); };
    const bool legal = std::all_of(ops.begin(), ops.end(), [&](Op op) {
      if (op.kind() == OpKind::Forward) return true;
      const bool weight = op.kind() == OpKind::BackwardWeight;
      const Op before =
          weight ? backward_input(op.stage(), op.microbatch()) : forward(op.stage(), op.microbatch());
      return place(before) < place(op);
    });
    if (legal) orders.push_back(ops);
  } while (std::next_permutation(ops.begin(), ops.end()));
  return orders;
}

/// The smallest makespan of any order, by trying them all.
Ticks best_makespan(const Schedule& schedule, const Costs& costs) {
  const auto first = all_orders(schedule, Rank(0));
  const auto second = all_orders(schedule, Rank(1));
  Simulator simulator;
  Ticks best = kMaxTicks;
  for (const auto& a : first)
    for (const auto& b : second) {
      const auto outcome = simulator.evaluate(test::with_queues(schedule, {a, b}), costs,
                                              default_memory(schedule.placement()));
      if (const auto* totals = std::get_if<Totals>(&outcome)) best = std::min(best, totals->makespan);
    }
  return best;
}

/// max over all pairs (h, t) of h + work of {head >= h, tail >= t} + t, tried one by one, for the plain 1F1B whose heads and
/// tails are known: rank r's forward has head r F, tail (p-1-r)(F+B) + (r+1) B; its backward has head p F + (p-1-r) B, tail r B.
Ticks head_tail_by_hand(int p, int m, Ticks f, Ticks b) {
  Ticks best = 0;
  for (int r = 0; r < p; ++r) {
    struct Job {
      Ticks head, tail, work;
    };
    const Job jobs[] = {{r * f, (p - 1 - r) * (f + b) + (r + 1) * b, m * f},
                        {p * f + (p - 1 - r) * b, r * b, m * b}};
    for (const Job& h : jobs)
      for (const Job& t : jobs) {
        Ticks work = 0;
        for (const Job& job : jobs)
          if (job.head >= h.head && job.tail >= t.tail) work += job.work;
        if (work > 0) best = std::max(best, h.head + work + t.tail);
      }
  }
  return best;
}

}  // namespace

TEST_CASE("1F1B with p = 4, m = 8, F = 1, B = 2 cannot be beaten: 33") {
  // Rank 3 starts after 3 F, works 8 * 3, and 3 B follow: 3 + 24 + 6 = 33 = (m + p - 1)(F + B).
  const auto bound = bound_of(test::one_f_one_b(4, 8), {.forward = 1, .backward = 2});
  CHECK(bound.value == 33);
  CHECK(bound.name == "rank-head-tail");
}

TEST_CASE("the best set of entries is found") {
  for (int p = 1; p <= 5; ++p)
    for (int m = 1; m <= 6; ++m)
      CHECK(bound_of(test::one_f_one_b(p, m), {.forward = 3, .backward = 7}).value ==
            head_tail_by_hand(p, m, 3, 7));
}

TEST_CASE("the best set of entries is found in random schedules, by trying all pairs of head and tail") {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const auto [schedule, costs] =
        test::random_problem(1'800'000 + seed, {.group_percent = seed % 2 == 0 ? 0 : 40});
    Ticks best = 0;
    for (const auto& jobs : test::chain_jobs(*schedule, costs))
      for (const ChainJob& h : jobs)
        for (const ChainJob& t : jobs) {
          Ticks work = 0;
          for (const ChainJob& job : jobs)
            if (job.head >= h.head && job.tail >= t.tail) work += job.work;
          if (work > 0) best = std::max(best, h.head + work + t.tail);
        }
    INFO("seed " << seed);
    const LowerBound bound = lower_bound(*schedule, costs, {});
    REQUIRE(bound.value == best);
    // To know what an order takes changes neither the bound nor its name.
    const LowerBound beside = lower_bound(*schedule, costs, {}, span_of(simulate(schedule, costs)).length());
    REQUIRE(beside.value == bound.value);
    REQUIRE(beside.name == bound.name);
  }
}

TEST_CASE("bounds are named after what proves them") {
  CHECK(bound_of(scene("0F0 0F1 0B0 0B1"), {}).name == "rank-work");
  CHECK(bound_of(scene("0F0 0F1 0B0 0B1"), {}).value == 6);
  // One microbatch through four ranks: 4 (F + B) = 12, and 3 hops each way.
  CHECK(bound_of(test::one_f_one_b(4, 1), {.delay = 5}).name == "microbatch-chain");
  CHECK(bound_of(test::one_f_one_b(4, 1), {.delay = 5}).value == 12 + 6 * 5);
}

TEST_CASE("under post-validation the bound is the most work and the optimizer") {
  const auto schedule = test::one_f_one_b(4, 8);
  const Costs costs = uniform_costs(schedule->placement(), {});
  const auto bound = lower_bound(*schedule, costs, {.rule = StepRule::PostValidation, .optimizer = 7});
  CHECK(bound.value == 8 * 3 + 7);
  CHECK(bound.name == "rank-work");
}

TEST_CASE("no random schedule beats its bound") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const auto [schedule, costs] = test::random_problem(1'600'000 + seed);
    INFO("seed " << seed);
    REQUIRE(lower_bound(*schedule, costs, {}).value <= span_of(simulate(schedule, costs)).length());
    const Steps steady{.rule = StepRule::PostValidation, .optimizer = 3};
    REQUIRE(lower_bound(*schedule, costs, steady).value <= steady_period(*schedule, costs, steady));
  }
}

TEST_CASE("the bound does not depend on the order") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto [schedule, costs] = test::random_problem(1'700'000 + seed, {.group_percent = 0});
    test::Random random(seed);
    const Schedule other = test::with_swapped_ops(random, *schedule, 5);
    INFO("seed " << seed);
    REQUIRE(lower_bound(*schedule, costs, {}).value == lower_bound(other, costs, {}).value);
  }
}

TEST_CASE("the best of all orders of two microbatches on two ranks is not below the bound") {
  int exact = 0;
  constexpr int kCases = 60;
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    test::Random random(seed);
    // Full backwards, 6 orders per rank; now and then split ones, 20 orders per rank.
    const bool split = seed % 6 == 0;
    const auto schedule = scene(split ? "0F0 0F1 0I0 0W0 0I1 0W1 | 1F0 1F1 1I0 1W0 1I1 1W1"
                                      : "0F0 0F1 0B0 0B1 | 1F0 1F1 1B0 1B1");
    Costs costs = test::random_costs(random, *schedule);
    INFO("seed " << seed);
    const Ticks bound = lower_bound(*schedule, costs, {}).value;
    const Ticks best = best_makespan(*schedule, costs);
    REQUIRE(bound <= best);
    exact += bound == best ? 1 : 0;
  }
  // The bound is worth something only if it is often reached.
  CHECK(exact > kCases / 2);
}

}  // namespace pipeloom::bounds_test
