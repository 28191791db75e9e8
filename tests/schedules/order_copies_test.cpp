// What orders come to with pairs, with copies to the host and back and with forwards that run again (sim/orders/entries): by hand, and as the engine has it.

#include <algorithm>
#include <memory>
#include <vector>

#include "schedules/offload.hpp"
#include "schedules/recompute.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/memory.hpp"
#include "sim/orders/entries/copies.hpp"
#include "sim/orders/entries/entry_times.hpp"
#include "sim/orders/search/policy_search.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"

namespace pipeloom::orders::order_copies_test {
namespace {

/// One stage whose F, I and W take 1 and whose passes hold 10 until I; copies take 2 each way.
Problem one_stage(Bytes limit) {
  Problem out;
  out.microbatches = 2;
  out.stages = {
      {.forward = 1, .input = 1, .weight = 1, .held = 10, .is_copied = true, .offload = 2, .reload = 2}};
  out.stages_of = {{0}};
  out.limit = {limit};
  out.origin = {0};
  return out;
}

struct Drawn {
  Placement placement;
  Terms terms;
  Problem problem;
  OffloadOption option;
  RecomputeOption again = {};
};

/// The stage's forwards run again in front of their backwards, and hold a stash until then.
void run_again(Drawn& drawn, std::size_t stage, Bytes stash) {
  drawn.again.on = true;
  drawn.again.stages.push_back(static_cast<int>(stage));
  StageWork& work = drawn.problem.stages[stage];
  work.again = drawn.terms.costs.duration[index_of(OpKind::Recompute)][stage];
  work.input += work.again;
  drawn.terms.memory.stash[stage] = stash;
  work.dropped = work.held - stash;
  work.held = stash;
}

/// Unequal times on loops, waves and lines; some stages copied, sooner or later, unless F and I stand too close; half of the time pairs of
/// unequal times.
Drawn draw(test::Random& random) {
  const int ranks = 1 + random.below(4);
  const Placement placement = random.chance(30)   ? Placement::linear(ranks)
                              : random.chance(50) ? Placement::loop(ranks, 2)
                                                  : Placement::wave(ranks, 2);
  Terms terms = uniform_terms(placement, {.delay = random.below(3)});
  for (const OpKind kind : {OpKind::Forward, OpKind::BackwardInput, OpKind::BackwardWeight, OpKind::Offload,
                            OpKind::Reload, OpKind::Recompute})
    for (Ticks& duration : terms.costs.duration[index_of(kind)]) duration = random.between(1, 9);
  for (std::size_t s = 0; s < terms.memory.activation.size(); ++s) {
    terms.memory.activation[s] = random.between(2, 9);
    terms.memory.released_at_input[s] = random.between(-1, 2);
  }
  const bool has_pairs = random.chance(50);
  if (has_pairs) {
    terms.costs.overlap.rule = OverlapRule::Explicit;
    for (int pair = placement.stages() * placement.stages(); pair-- > 0;)
      terms.costs.overlap.pairs.push_back(random.between(1, 20));
  }
  Drawn out{
      placement, terms, make_problem(placement, 1 + random.below(9), terms, {}, Objective::Makespan), {}};
  add_pairs(out.problem, placement, terms.costs);
  for (std::size_t s = 0; s < out.problem.stages.size(); ++s) {
    if (!has_pairs && random.chance(30))
      run_again(out, s, random.between(0, static_cast<int>(out.problem.stages[s].held)));
    if (!random.chance(60)) continue;
    out.option.stages.push_back(static_cast<int>(s));
    StageWork& work = out.problem.stages[s];
    work.is_copied = true;
    work.offload = terms.costs.duration[index_of(OpKind::Offload)][s];
    work.reload = terms.costs.duration[index_of(OpKind::Reload)][s];
  }
  out.option.on = !out.option.stages.empty();
  out.option.min_gap = out.problem.least_gap = random.below(5);
  out.option.prefetch = 1 + random.below(6);
  return out;
}

Bytes most_of(const Drawn& drawn) {
  Bytes sum = 0;
  for (const StageWork& stage : drawn.problem.stages) sum += stage.held + stage.kept;
  return sum;
}

/// Words of some policy, made as searches make them, with these limits.
std::optional<Order> words(const Problem& problem, test::Random& random) {
  auto families = first_policies(problem);
  auto& family = families[static_cast<std::size_t>(random.below(static_cast<int>(families.size())))];
  Player player(problem);
  if (!player.play(family[static_cast<std::size_t>(random.below(static_cast<int>(family.size())))]))
    return std::nullopt;
  return player.words();
}

/// What is run: the order with its R, O and L.
std::shared_ptr<const Schedule> with_options(std::shared_ptr<const Schedule> schedule, const Drawn& drawn) {
  if (drawn.again.on)
    schedule = std::make_shared<const Schedule>(schedules::with_recompute(*schedule, drawn.again));
  if (drawn.option.on)
    schedule = std::make_shared<const Schedule>(schedules::with_offload(*schedule, drawn.option));
  return schedule;
}

}  // namespace

TEST_CASE("order copies: two microbatches on one rank, by hand") {
  // F0 0-1, its O 1-3. L0 stands one op ahead of I0, in front of F1, but comes behind O0: 3-5. F1 1-2, O1 5-7. I0 waits for L0: 5-6. L1 stands
  // in front of W0 and behind O1: 7-9. W0 6-7, I1 9-10, W1 10-11.
  // Bytes: 10 from 0, 20 from 1; at 3 O0 gives back what L0 takes; 10 from 6; at 7 O1 and L1 likewise; 0 from 10.
  const Order order{{{letter(0, kForward), letter(0, kForward), letter(0, kInput), letter(0, kWeight),
                      letter(0, kInput), letter(0, kWeight)}}};
  const Problem fits = one_stage(20);
  const auto run = run_entries(fits, order, 1);
  REQUIRE(run);
  CHECK(run->value == 11);
  CHECK(run->mean == 11);
  CHECK(run->over_limit == 0);
  const Problem tight = one_stage(16);  // 20 is a quarter more
  CHECK(run_entries(tight, order, 1)->over_limit == 0.25);
  // Passes stay where no more than three ops lie between F and I: then nothing is copied, and every op follows the one before it.
  Problem stay = one_stage(20);
  stay.least_gap = 3;
  CHECK(run_entries(stay, order, 1)->value == 6);
}

TEST_CASE("order copies: times and bytes are the engine's, of the order with its pairs and copies") {
  test::Random random(11);
  int copied = 0;
  int paired = 0;
  int both = 0;
  int again = 0;
  for (int i = 0; i < 400; ++i) {
    CAPTURE(i);
    Drawn drawn = draw(random);
    const auto order = words(drawn.problem, random);
    REQUIRE(order);
    const auto plain = std::make_shared<const Schedule>(schedule_of(drawn.problem, drawn.placement, *order));
    const auto schedule = with_options(plain, drawn);
    const bool has_pairs = plain->num_entries() < plain->num_ops();
    copied += schedule->has_copies() ? 1 : 0;
    paired += has_pairs ? 1 : 0;
    again += schedule->has_copies() && schedule->contains(OpKind::Recompute) ? 1 : 0;
    both += schedule->has_copies() && has_pairs ? 1 : 0;
    CHECK(order_of(drawn.problem, *schedule)->words == order->words);
    CHECK(entries_of(*order_of(drawn.problem, *schedule)) == entries_of(*order));
    CHECK(order_of(entries_of(*order)).words == order->words);
    const Timeline times = simulate(schedule, drawn.terms.costs);
    const auto memory = measure_memory(times, drawn.terms.memory);
    Bytes peak = 0;
    for (const auto& rank : memory) peak = std::max(peak, rank.peak_bytes);
    const Bytes limit = std::max<Bytes>(1, random.between(peak / 2, peak + 3));
    std::ranges::fill(drawn.problem.limit, limit);
    const auto run = run_entries(drawn.problem, *order, drawn.option.prefetch);
    REQUIRE(run);
    CHECK(run->value == *std::ranges::max_element(times.end));
    CHECK(run->over_limit ==
          static_cast<double>(std::max<Bytes>(peak - limit, 0)) / static_cast<double>(limit));
  }
  CHECK(copied > 200);
  CHECK(paired > 100);
  CHECK(both > 60);
  CHECK(again > 60);
}

TEST_CASE("order copies: room for passes under way, as far as one microbatch leaves it") {
  // One stage of 10 that is copied and keeps 4 for W, one of 3 that stays: a microbatch needs 3, its I 4 more, and 33 of 40 are left.
  Problem problem = one_stage(40);
  problem.stages.front().kept = 4;
  problem.stages.push_back({.chunk = 1, .forward = 1, .input = 1, .weight = 1, .held = 3});
  problem.stages_of = {{0, 1}};
  const auto limit = [&](std::int32_t room) { return eased(problem, room).limit.front(); };
  CHECK(limit(0) == 40);
  CHECK(limit(2) == 20);
  CHECK(limit(3) == 10);
  CHECK(limit(4) == 10);
  problem.limit = {12};  // 5 are left, no pass of 10
  CHECK(limit(1) == 12);
  problem.limit = {kNoLimit};
  CHECK(limit(3) == kNoLimit);
}

TEST_CASE("order copies: a problem without them has room for what W keeps, and its orders end") {
  test::Random random(12);
  int played = 0;
  for (int i = 0; i < 400; ++i) {
    CAPTURE(i);
    Drawn drawn = draw(random);
    std::ranges::fill(drawn.problem.limit, random.between(most_of(drawn) / 2, 2 * most_of(drawn)));
    const auto room = static_cast<std::int32_t>(random.below(3));
    const Problem rest = eased(drawn.problem, room);
    for (std::size_t s = 0; s < rest.stages.size(); ++s) {
      const StageWork& whole = drawn.problem.stages[s];
      CHECK(rest.stages[s].held == (whole.is_copied ? 0 : whole.held));
      // Where no other has room, a W stands right behind its I, in the room of its R.
      const bool behind = whole.again > 0 && rest.stages[s].kept == std::min(whole.kept, rest.stages[s].held);
      CHECK((rest.stages[s].kept == whole.kept || behind));
    }
    const auto order = words(rest, random);
    if (!order) continue;
    ++played;
    CHECK(keeps_limits(rest, *order));
    CHECK(value_of(rest, *order));
  }
  CHECK(played > 200);
}

}  // namespace pipeloom::orders::order_copies_test
