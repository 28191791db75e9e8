// Lower bounds on orders: numbers derived by hand, and tiny problems whose orders are all tried.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "sim/orders/bounds/bounds.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"
#include "tests/sim/exhaustive_orders.hpp"

namespace pipeloom::order_bounds_test {
namespace {

using namespace orders;
using test::exhaustive_value;
using test::Random;

/// Stage s on rank_of[s]. Delays are `hop` where neighbours are on two ranks.
Problem problem_of(const std::vector<std::size_t>& rank_of, std::size_t microbatches, const StageWork& work,
                   Ticks hop = 0) {
  Problem out;
  out.microbatches = microbatches;
  out.stages_of.resize(std::ranges::max(rank_of) + 1);
  for (std::size_t s = 0; s < rank_of.size(); ++s) {
    StageWork stage = work;
    stage.rank = rank_of[s];
    stage.chunk = out.stages_of[stage.rank].size();
    stage.forward_delay = s > 0 && rank_of[s - 1] != rank_of[s] ? hop : 0;
    stage.gradient_delay = s + 1 < rank_of.size() && rank_of[s + 1] != rank_of[s] ? hop : 0;
    out.stages_of[stage.rank].push_back(s);
    out.stages.push_back(stage);
  }
  out.limit.assign(out.ranks(), kNoLimit);
  set_objective(out, Objective::Window);
  return out;
}

/// F = I = W = 1; 2 bytes from F, 1 from I to W.
const StageWork kUnit = {.forward = 1, .input = 1, .weight = 1, .held = 2, .kept = 1};

Ticks value_named(const Problem& problem, std::string_view name) {
  for (const Bound& bound : all_bounds(problem))
    if (bound.name == name) return bound.value;
  return 0;
}

TEST_CASE("bounds on orders: work with idle time near its start and end") {
  Problem problem = problem_of({0, 1}, 4, kUnit);
  problem.limit = {4, 4};
  // Rank 0 works 4 * 3 = 12. Its first I starts at 3 (F0, F1, I1), and only two F fit before: 1 idle. Behind its last F come F1, I1, I0, W0,
  // 4 in all, and two microbatches' I and W fill them.
  CHECK(value_named(problem, "work-start-end") == 13);
  CHECK(exhaustive_value(problem) == 13);
  // Without a limit three F fit before the first I.
  problem.limit = {kNoLimit, kNoLimit};
  CHECK(value_named(problem, "work-start-end") == 12);
  // The makespan has rank 1 start at 1.
  set_objective(problem, Objective::Makespan);
  CHECK(value_named(problem, "work-start-end") == 13);
}

TEST_CASE("bounds on orders: on a V the turning rank waits at its end for those before it") {
  // F = I = W = 1 on p ranks, stages 0 .. p-1 down and p .. 2p-1 back up, room for k passes, p < k < 2p, that W ends. Rank p-1 starts at p-1
  // and has its first I at 3p-1 (F on 2p stages, I on p-1): 2p-k of these 2p ticks are idle. Behind its last F, on stage p, come p-1 more F,
  // 2p I and one W, until rank 0's end; rank p-1 may go on for p-1 more: of 4p-1 ticks it fills 2k with I and W.
  for (std::size_t p = 2; p <= 9; ++p)
    for (std::size_t k = p + 1; k < 2 * p; ++k) {
      std::vector<std::size_t> rank_of(2 * p);
      for (std::size_t s = 0; s < p; ++s) rank_of[s] = rank_of[2 * p - 1 - s] = s;
      const std::size_t m = 2 * p;
      Problem problem = problem_of(rank_of, m, {.forward = 1, .input = 1, .weight = 1, .held = 1, .kept = 1});
      problem.limit.assign(p, static_cast<Bytes>(k));
      INFO("p = " << p << ", k = " << k);
      CHECK(value_named(problem, "work-start-end") ==
            static_cast<Ticks>(6 * m + (2 * p - k) + (4 * p - 1 - 2 * k)));
      // Rank p-1 alone under the makespan: it cannot end behind rank 0, and starts p-1 later.
      set_objective(problem, Objective::Makespan);
      CHECK(value_named(problem, "work-start-end") >= static_cast<Ticks>(p - 1 + 6 * m + (2 * p - k)));
    }
}

TEST_CASE("bounds on orders: work, then the gradients' way") {
  // Rank 1 starts at 1 and has F and I of both microbatches, 4; I0 and W0 of the last follow: 1 + 4 + 2 = (m + p - 1)(F + I) + W.
  const Problem problem = problem_of({0, 1}, 2, kUnit);
  CHECK(value_named(problem, "head-work-tail") == 7);
  CHECK(exhaustive_value(problem) == 7);
  // Two hops of 5, one each way.
  CHECK(value_named(problem_of({0, 1}, 2, kUnit, 5), "head-work-tail") == 17);
}

TEST_CASE("bounds on orders: microbatches wait for slots") {
  Problem problem = problem_of({0, 1}, 3, kUnit);
  // Room for one: F0, F1, I1, I0 = 4, then W before the next F, for its byte has no room beside 2 others: 5 + 5 + 4 and the last W.
  problem.limit = {2, 2};
  CHECK(value_named(problem, "slots") == 15);
  CHECK(value_named(problem, "one-machine") == 15);
  CHECK(exhaustive_value(problem) == 15);
  // With one byte more W may wait: 4 + 4 + 4 + 1.
  problem.limit = {3, 3};
  CHECK(value_named(problem, "slots") == 13);
}

TEST_CASE("bounds on orders: bytes times time") {
  Problem problem = problem_of({0, 1}, 4, kUnit);
  problem.limit = {3, 3};
  // Rank 0 holds 2 bytes for F0, F1, I1, I0 and 1 for W0: 9 per microbatch, 36 in all. The third byte comes 1/2 after the first two, at 2 per tick
  // (loss 1/4), and goes 1 before the end, at 1 per tick (loss 1/2): 36.75 / 3 = 12.25.
  CHECK(value_named(problem, "area") == 13);
}

TEST_CASE("bounds on orders: the best, and no more than what is asked for") {
  Problem problem = problem_of({0, 1}, 3, kUnit);
  problem.limit = {2, 2};
  CHECK(best_bound(problem) == Bound{"slots", 15});
  // 9 of work and 2 before the first I that one F does not fill (3 - 1), and I1's way back: nothing else is asked.
  CHECK(best_bound(problem, 10).name == "work-start-end");
  CHECK(best_bound(problem_of({0}, 1, kUnit)) == Bound{"work-start-end", 3});
  // Backwards in one piece leave nothing behind: W takes no time and no bytes.
  Problem whole = problem_of({0, 1}, 3, {.forward = 1, .input = 2, .weight = 0, .held = 2, .kept = 0});
  whole.cut = false;
  whole.limit = {2, 2};
  CHECK(best_bound(whole) == Bound{"slots", 18});  // three times F0, F1, B1, B0
  CHECK(exhaustive_value(whole) == 18);
}

TEST_CASE("bounds on orders: times near the largest, and limits that admit nothing") {
  const Ticks long_time = kMaxTicks / 4;
  Problem problem = problem_of(
      {0, 1, 1, 0}, 1000,
      {.forward = long_time, .input = long_time, .weight = long_time, .held = kNoLimit / 4, .kept = 1});
  CHECK(best_bound(problem).value == kMaxTicks);
  problem.limit = {kNoLimit - 1, 1};
  CHECK(best_bound(problem).value == kMaxTicks);
  problem.limit = {0, 0};
  CHECK(best_bound(problem).value == kMaxTicks);
}

StageWork random_work(Random& random) {
  StageWork work;
  work.forward = random.between(0, 4);
  work.input = random.between(0, 5);
  work.weight = random.between(0, 4);
  work.held = random.between(0, 4);
  work.kept = random.between(0, work.held + 1);
  return work;
}

/// One that any order may keep, or a little less.
Bytes random_limit(Random& random, const Problem& problem, std::size_t rank) {
  if (random.chance(10)) return kNoLimit;
  Bytes most = 0;
  for (const std::size_t stage : problem.stages_of[rank])
    most += std::max(problem.stages[stage].held, problem.stages[stage].kept);
  const auto chunks = static_cast<Bytes>(problem.stages_of[rank].size());
  return most / chunks + random.between(0, most * (static_cast<Bytes>(problem.microbatches) - 1));
}

Problem random_problem(Random& random, const std::vector<std::size_t>& rank_of, std::size_t microbatches) {
  Problem out =
      problem_of(rank_of, microbatches, random_work(random), random.chance(50) ? random.between(1, 3) : 0);
  out.cut = !random.chance(15);
  const bool alike = random.chance(40);
  const bool unit = random.chance(20);
  for (StageWork& stage : out.stages) {
    const StageWork drawn = unit ? kUnit : random_work(random);
    if (!alike || unit) {
      stage.forward = drawn.forward;
      stage.input = drawn.input;
      stage.weight = drawn.weight;
      stage.held = drawn.held;
      stage.kept = drawn.kept;
    }
    if (!out.cut) stage.weight = stage.kept = 0;
  }
  for (std::size_t rank = 0; rank < out.ranks(); ++rank) out.limit[rank] = random_limit(random, out, rank);
  set_objective(out, random.chance(50) ? Objective::Makespan : Objective::Window);
  return out;
}

struct Tiny {
  std::vector<std::size_t> rank_of;
  std::size_t microbatches = 0;
  int draws = 0;
  int proven_percent = 0;  ///< of those that have an order, at least
};

TEST_CASE("bounds on orders: no order of any tiny problem is better") {
  const Tiny tiny = GENERATE(Tiny{{0, 1}, 2, 500, 94}, Tiny{{0, 1}, 3, 3000, 91}, Tiny{{0, 1}, 4, 300, 92},
                             Tiny{{0, 1, 2}, 3, 200, 84}, Tiny{{0, 1, 1, 0}, 2, 800, 63},
                             Tiny{{0, 1, 1, 0}, 3, 120, 62}, Tiny{{0, 1, 2, 2, 1, 0}, 2, 150, 57},
                             Tiny{{0, 1, 0, 1}, 2, 400, 60}, Tiny{{0, 1, 2, 0, 0, 1}, 2, 60, 49});
  int solved = 0;
  int proven = 0;
  for (int draw = 0; draw < tiny.draws; ++draw) {
    Random random(static_cast<std::uint64_t>(draw));
    const Problem problem = random_problem(random, tiny.rank_of, tiny.microbatches);
    const auto best = exhaustive_value(problem);
    if (!best) continue;
    INFO("draw " << draw << " of " << tiny.rank_of.size() << " stages, m = " << tiny.microbatches);
    for (const Bound& bound : all_bounds(problem)) {
      INFO(bound.name);
      REQUIRE(bound.value <= *best);
    }
    ++solved;
    if (best_bound(problem).value == *best) ++proven;
  }
  CHECK(proven * 100 >= solved * tiny.proven_percent);
  CHECK(solved > tiny.draws / 20);
}

}  // namespace
}  // namespace pipeloom::order_bounds_test
