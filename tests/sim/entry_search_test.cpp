// Orders with pairs and copies, changed entry by entry (sim/orders/entries): against optima by hand, and what must hold of whatever is found.

#include "sim/orders/entries/entry_search.hpp"

#include <algorithm>
#include <vector>

#include "sim/orders/entries/copies.hpp"
#include "sim/orders/entries/entry_times.hpp"
#include "sim/orders/search/policy_search.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"

namespace pipeloom::orders::entry_search_test {
namespace {

constexpr Letter kF = letter(0, kForward);
constexpr Letter kI = letter(0, kInput);
constexpr Letter kW = letter(0, kWeight);

/// One stage whose F, I and W take 1.
Problem one_stage(std::size_t microbatches) {
  Problem out;
  out.microbatches = microbatches;
  out.stages = {{.forward = 1, .input = 1, .weight = 1, .held = 10}};
  out.stages_of = {{0}};
  out.limit = {kNoLimit};
  out.origin = {0};
  return out;
}

/// One microbatch after the other.
Order one_by_one(std::size_t microbatches) {
  Order out;
  out.words.resize(1);
  for (std::size_t k = 0; k < microbatches; ++k)
    for (const Letter next : {kF, kI, kW}) out.words.front().push_back(next);
  return out;
}

/// Unequal times on loops and waves, with pairs, copies, or both; room for some passes.
Problem draw(test::Random& random) {
  const int ranks = 2 + random.below(2);
  const Placement placement = random.chance(50) ? Placement::loop(ranks, 2) : Placement::wave(ranks, 2);
  Terms terms = uniform_terms(placement, {.delay = random.below(3)});
  for (const OpKind kind : {OpKind::Forward, OpKind::BackwardInput, OpKind::BackwardWeight})
    for (Ticks& duration : terms.costs.duration[index_of(kind)]) duration = random.between(1, 9);
  Problem out = make_problem(placement, 2 + random.below(6), terms, {}, Objective::Makespan);
  const bool has_pairs = random.chance(60);
  if (has_pairs) {
    terms.costs.overlap.rule = OverlapRule::Explicit;
    for (int pair = placement.stages() * placement.stages(); pair-- > 0;)
      terms.costs.overlap.pairs.push_back(random.between(1, 20));
    add_pairs(out, placement, terms.costs);
  }
  for (StageWork& stage : out.stages) {
    stage.held = random.between(2, 9);
    stage.kept = random.between(1, static_cast<int>(stage.held));
    stage.is_copied = !has_pairs || random.chance(30);
    stage.offload = stage.reload = random.between(1, 3);
  }
  std::ranges::fill(out.limit, random.between(20, 40));
  return out;
}

std::vector<EntryStart> starts(const Problem& problem) {
  std::vector<EntryStart> out;
  const Problem rest = eased(problem, 2);
  Player player(rest);
  for (const auto& family : first_policies(rest))
    for (const Policy& policy : family)
      if (out.size() < 6 && player.play(policy)) out.push_back({player.words(), 1});
  return out;
}

}  // namespace

TEST_CASE("entry search: pairs are made where they are shorter") {
  // F0, then F1 with B0, F2 with B1, F3 with B2, and I3 and W3 alone: 1 + 3 * 2 + 2 instead of 12.
  Problem problem = one_stage(4);
  problem.pairs = {2};
  const auto found = search_entries(problem, {{one_by_one(4)}}, {.work = 2'000'000});
  REQUIRE(found);
  CHECK(found->value == 9);
  const Order best{{{kF, kF, kI, kW, kF, kI, kW, kF, kI, kW, kI, kW}}, {{1, 4, 7}}};
  CHECK(found->best.order == best);
  CHECK(run_entries(problem, best, 1)->value == 9);
}

TEST_CASE("entry search: pairs that are longer come apart") {
  // Only a published order has such a pair; on their own all ops take 6.
  Problem problem = one_stage(2);
  problem.pairs = {5};
  const Order paired{{{kF, kF, kI, kW, kI, kW}}, {{1}}};
  CHECK(run_entries(problem, paired, 1)->value == 8);
  const auto found = search_entries(problem, {{paired}}, {.work = 1'000'000});
  REQUIRE(found);
  CHECK(found->value == 6);
  CHECK(found->best.order.pairs.empty());
}

TEST_CASE("entry search: reloads come early enough") {
  // Copies of 2 each way. One pass after the other: F0 0-1, O0 1-3, L0 3-5, I0 5-6, W0 6-7, and the same again, 14. With F1 in front of I0 four copies
  // follow each other from 1 on, so that the last pass is there at 9 and I and W of it end at 11; none is shorter.
  Problem problem = one_stage(2);
  problem.stages.front().is_copied = true;
  problem.stages.front().offload = problem.stages.front().reload = 2;
  problem.limit = {20};
  CHECK(run_entries(problem, one_by_one(2), 1)->value == 14);
  const auto found = search_entries(problem, {{one_by_one(2), 1}}, {.work = 1'000'000});
  REQUIRE(found);
  CHECK(found->value == 11);
  const auto run = run_entries(problem, found->best.order, found->best.prefetch);
  REQUIRE(run);
  CHECK(run->value == 11);
  CHECK(run->over_limit == 0);
}

TEST_CASE("entry search: what does not fit is left, or shrinks until it does") {
  // Both forwards first hold 20; one after the other 10.
  Problem problem = one_stage(2);
  const Order both_first{{{kF, kF, kI, kW, kI, kW}}};
  problem.pairs = {kMaxTicks};
  problem.limit = {10};
  const auto found = search_entries(problem, {{both_first}}, {.work = 1'000'000});
  REQUIRE(found);
  CHECK(keeps_limits(problem, found->best.order));
  CHECK_FALSE(keeps_limits(problem, both_first));
  problem.limit = {9};
  CHECK_FALSE(search_entries(problem, {{both_first}}, {.work = 100'000}));
  CHECK_FALSE(search_entries(problem, {}, {.work = 100'000}));
  // An order that hangs is no start: the gradient of a pass that never came in.
  CHECK_FALSE(search_entries(problem, {{Order{{{kI, kF, kW, kF, kI, kW}}}}}, {.work = 100'000}));
}

TEST_CASE("entry search: it can be stopped, and has an answer then") {
  Problem problem = one_stage(64);
  problem.pairs = {2};
  EntrySearchOptions options{.work = 4'000'000'000};
  options.progress = [](Ticks) { return false; };
  const auto found = search_entries(problem, {{one_by_one(64)}}, options);
  REQUIRE(found);
  CHECK(run_entries(problem, found->best.order, found->best.prefetch)->value == found->value);
}

TEST_CASE("entry search: runners-up fit, are near the best, and differ") {
  test::Random random(6);
  int kept = 0;
  for (int i = 0; i < 20; ++i) {
    CAPTURE(i);
    const Problem problem = draw(random);
    const auto found = search_entries(problem, starts(problem), {.work = 50'000, .runners_up = 3});
    if (!found) continue;
    CHECK(found->runners_up.size() <= 3);
    std::vector<EntryStart> all = {found->best};
    for (const EntryStart& one : found->runners_up) {
      CHECK(std::ranges::find(all, one) == all.end());
      all.push_back(one);
      const auto run = run_entries(problem, one.order, one.prefetch);
      REQUIRE(run);
      CHECK(standing_of(*run) == Standing::Fits);
      CHECK(run->value >= found->value);
      CHECK(static_cast<double>(run->value) <= 1.02 * static_cast<double>(found->value));
    }
    kept += found->runners_up.empty() ? 0 : 1;
  }
  CHECK(kept > 10);
}

TEST_CASE(
    "entry search: what is found fits, is no longer than any start, and the same on any number of threads") {
  test::Random random(5);
  int shorter = 0;
  int fits = 0;
  for (int i = 0; i < 40; ++i) {
    CAPTURE(i);
    const Problem problem = draw(random);
    const std::vector<EntryStart> from = starts(problem);
    EntryRun best;
    for (const EntryStart& start : from) {
      const auto run = run_entries(problem, start.order, start.prefetch);
      REQUIRE(run);
      if (is_better(*run, best)) best = *run;
    }
    const auto found = search_entries(problem, from, {.work = 100'000, .seed = 3});
    if (standing_of(best) == Standing::Fits) REQUIRE(found);
    if (!found) continue;
    ++fits;
    const auto run = run_entries(problem, found->best.order, found->best.prefetch);
    REQUIRE(run);
    CHECK(standing_of(*run) == Standing::Fits);
    CHECK(run->value == found->value);
    if (standing_of(best) == Standing::Fits) CHECK(run->value <= best.value);
    shorter += standing_of(best) == Standing::Fits && run->value < best.value ? 1 : 0;
    const auto again = search_entries(problem, from, {.work = 100'000, .seed = 3, .threads = 4});
    REQUIRE(again);
    CHECK(again->best.order == found->best.order);
    CHECK(again->best.prefetch == found->best.prefetch);
  }
  CHECK(fits > 30);
  CHECK(shorter > 15);
}

}  // namespace pipeloom::orders::entry_search_test
