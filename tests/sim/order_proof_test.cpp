// Proofs that no order is shorter (sim/orders/exact).

#include <algorithm>
#include <vector>

#include "sim/orders/bounds/bounds.hpp"
#include "sim/orders/bounds/one_rank.hpp"
#include "sim/orders/exact/proof.hpp"
#include "sim/orders/search/search.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"
#include "tests/sim/exhaustive_orders.hpp"

namespace pipeloom::orders {
namespace order_proof_test {
namespace {

/// One stage on each rank. `limit` in activations of a stage, of which a half stays from I to W.
Problem linear_problem(std::size_t ranks, std::size_t microbatches, StageWork work, Bytes limit,
                       Objective objective) {
  Problem out;
  out.microbatches = microbatches;
  out.stages_of.resize(ranks);
  work.held = 2;
  work.kept = 1;
  for (std::size_t s = 0; s < ranks; ++s) {
    work.rank = s;
    out.stages.push_back(work);
    out.stages_of[s] = {s};
  }
  out.limit.assign(ranks, 2 * limit);
  set_objective(out, objective);
  return out;
}

Problem drawn(test::Random& random, int most_ranks, int most_microbatches) {
  const auto ranks = static_cast<std::size_t>(random.between(1, most_ranks));
  const auto microbatches = static_cast<std::size_t>(random.between(1, most_microbatches));
  const auto objective = random.chance(50) ? Objective::Window : Objective::Makespan;
  Problem out = linear_problem(ranks, microbatches, {}, 1 + random.below(4), objective);
  for (StageWork& stage : out.stages) {
    stage.forward = random.between(0, 9);
    stage.input = random.between(0, 9);
    stage.weight = random.between(0, 9);
    stage.held = random.between(1, 2);
    stage.kept = random.between(0, 1);
    if (stage.rank > 0) stage.forward_delay = random.below(4);
    if (stage.rank + 1 < ranks) stage.gradient_delay = random.below(4);
  }
  set_objective(out, objective);
  return out;
}

}  // namespace

TEST_CASE("order proof: one rank, jobs that may be interrupted") {
  // 0 to 2 the first, which is left for the second (tail 9) until 5, and goes on to 6: max(5 + 9, 6 + 1).
  std::vector<OneRank::Job> jobs = {{0, 3, 1}, {2, 3, 9}};
  CHECK(OneRank().bound(jobs) == 14);
  // Behind a gap: 7 to 9.
  jobs = {{7, 2, 0}, {1, 1, 0}};
  CHECK(OneRank().bound(jobs) == 9);
  // A tail may be negative: counted from the rank's origin.
  jobs = {{4, 2, -3}};
  CHECK(OneRank().bound(jobs) == 3);
}

TEST_CASE("order proof: one rank, jobs in lines have the bound of single jobs") {
  test::Random random(11);
  OneRank one_rank;
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::vector<Ticks>> heads(static_cast<std::size_t>(random.between(1, 7)));
    std::vector<std::vector<Ticks>> tails(heads.size());
    std::vector<OneRank::Line> lines;
    std::vector<OneRank::Job> jobs;
    for (std::size_t i = 0; i < heads.size(); ++i) {
      const auto work = static_cast<Ticks>(random.between(0, 6));
      Ticks head = random.between(0, 40);
      Ticks tail = random.between(0, 90);
      for (auto count = random.between(1, 8); count > 0; --count) {
        heads[i].push_back(head);
        tails[i].push_back(tail);
        jobs.push_back({head, work, tail});
        head += random.between(0, 9);
        tail -= random.between(0, 9);
      }
      lines.push_back({heads[i], tails[i], 1, work});
    }
    REQUIRE(one_rank.bound(lines) == one_rank.bound(jobs));
  }
}

TEST_CASE("order proof: a bound that is told once to stop is none too large") {
  // The caller says so at one question and not again: what was begun must not go on half known.
  const Problem problem =
      linear_problem(3, 200, {.forward = 3, .input = 2, .weight = 4}, 2, Objective::Makespan);
  int asked = 0;
  int ends_at = 0;
  const auto stop = [&] { return ++asked == ends_at; };
  const Bound whole = best_bound(problem, kMaxTicks, stop);
  const int all = asked;
  CHECK(all > 8);  // 200 microbatches there and back, asked of every 64, and three ranks
  for (ends_at = 1; ends_at <= all; ++ends_at) {
    asked = 0;
    CHECK(best_bound(problem, kMaxTicks, stop).value <= whole.value);
    CHECK(asked == ends_at);
  }
}

TEST_CASE("order proof: two ranks, one microbatch at a time") {
  // Room for one activation: F0 F1 I1 I0 W0 take 5 before the first rank may begin the next F; the last rank's W runs beside I0. Three times
  // 5 = 15, and no order is shorter: each microbatch holds the first rank's room from its F to its W.
  const Problem problem =
      linear_problem(2, 3, {.forward = 1, .input = 1, .weight = 1}, 1, Objective::Makespan);
  const Proof proof = prove(problem, kMaxTicks, {});
  CHECK(proof.complete);
  CHECK(proof.value == 15);
  REQUIRE(proof.order);
  CHECK(value_of(problem, *proof.order) == 15);
  CHECK(keeps_limits(problem, *proof.order));
  const Proof nothing = prove(problem, 15, {});
  CHECK(nothing.complete);
  CHECK_FALSE(nothing.order);
}

TEST_CASE("order proof: of tiny problems the best of all orders") {
  test::Random random(20260301);
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    const Problem problem = drawn(random, 3, 4);
    const auto best = test::exhaustive_value(problem);
    REQUIRE(best);
    const Proof proof = prove(problem, kMaxTicks, {});
    CHECK(proof.complete);
    CHECK(proof.value == *best);
    REQUIRE(proof.order);
    CHECK(value_of(problem, *proof.order) == *best);
    CHECK(keeps_limits(problem, *proof.order));
  }
}

TEST_CASE("order proof: up to 72 ops are proven within the work of half a second") {
  // Three or four ranks and four to six microbatches, as problems that others gave to solvers.
  test::Random random(20260302);
  int proven = 0;
  constexpr int kProblems = 60;
  for (int i = 0; i < kProblems; ++i) {
    CAPTURE(i);
    const std::size_t ranks = 3 + static_cast<std::size_t>(random.below(2));
    const auto microbatches = static_cast<std::size_t>(random.between(4, 6));
    const StageWork work{
        .forward = random.between(50, 99), .input = random.between(50, 99), .weight = random.between(30, 70)};
    Problem problem =
        linear_problem(ranks, microbatches, work, random.between(1, 2 * static_cast<int>(ranks)),
                       random.chance(50) ? Objective::Window : Objective::Makespan);
    if (random.chance(50))
      for (StageWork& stage : problem.stages) stage.forward = random.between(50, 99);
    set_objective(problem, Objective::Window);
    const auto found = search_order(problem, {}, {.work = 20'000'000});
    REQUIRE(found);
    proven += found->proven ? 1 : 0;
    CHECK(best_bound(problem).value <= found->value);
    CHECK(value_of(problem, found->order) == found->value);
    // What a proof without any order to begin with finds is the same.
    const Proof alone = prove(problem, kMaxTicks, {});
    CHECK(alone.complete);
    CHECK(alone.value == found->value);
  }
  CHECK(proven == kProblems);
}

TEST_CASE("order proof: it ends when its states are used up or it is asked to") {
  const Problem problem =
      linear_problem(6, 16, {.forward = 51, .input = 67, .weight = 38}, 3, Objective::Window);
  const Proof few = prove(problem, kMaxTicks, {.states = 50});
  CHECK_FALSE(few.complete);
  CHECK(few.states <= 50);
  const Proof asked = prove(problem, kMaxTicks, {.states = 100'000, .goes_on = [] { return false; }});
  CHECK_FALSE(asked.complete);
  CHECK(asked.states <= 4096);
}

TEST_CASE("order proof: not for several stages on a rank, nor where I takes memory") {
  Problem problem = linear_problem(2, 2, {.forward = 1, .input = 1, .weight = 1}, 2, Objective::Makespan);
  CHECK(can_be_proven(problem));
  problem.stages[0].kept = 3;
  CHECK_FALSE(can_be_proven(problem));
  problem.stages[0].kept = 1;
  problem.microbatches = 101;  // 606 ops
  CHECK_FALSE(can_be_proven(problem));
  Problem looped = linear_problem(1, 2, {.forward = 1, .input = 1, .weight = 1}, 2, Objective::Makespan);
  looped.stages.push_back(looped.stages[0]);
  looped.stages[1].chunk = 1;
  looped.stages_of[0] = {0, 1};
  CHECK_FALSE(can_be_proven(looped));
}

}  // namespace order_proof_test
}  // namespace pipeloom::orders
