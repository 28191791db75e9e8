// The automatic ZB-V order: what its program was recorded to do, and what must hold for any costs and limits.

#include "schedules/zbv_auto_order.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>
#include "schedules/recorded.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"

namespace pipeloom::zbv_auto_order_test {
namespace {

using namespace schedules;
using recorded::ZeroBubbleCase;
using test::Random;

ZbvAutoResult order_of(const Terms& terms, int ranks, int microbatches, const std::vector<Bytes>& limit,
                       std::optional<ZbvAutoSetting> setting = {}) {
  auto outcome = zbv_auto_order(terms, ranks, microbatches, limit, setting);
  REQUIRE(std::holds_alternative<ZbvAutoResult>(outcome));
  return std::get<ZbvAutoResult>(std::move(outcome));
}

std::vector<Bytes> same_limit(int ranks, Bytes limit) {
  return std::vector<Bytes>(static_cast<std::size_t>(ranks), limit);
}

/// F = I = W = 1, no transfers; a pass holds 2 bytes, 1 from I to W.
Terms unit_terms(int ranks) {
  const Placement placement = Placement::wave(ranks, 2);
  Terms terms{.costs = uniform_costs(placement, {}), .memory = default_memory(placement)};
  std::fill(terms.memory.activation.begin(), terms.memory.activation.end(), 2);
  std::fill(terms.memory.released_at_input.begin(), terms.memory.released_at_input.end(), 1);
  return terms;
}

void check_recorded(const ZeroBubbleCase& one) {
  INFO(one.id);
  const int p = one.params.ranks;
  const int m = one.params.microbatches;
  const Terms terms = one.terms(Placement::wave(p, 2));
  const ZbvAutoResult result = order_of(terms, p, m, same_limit(p, one.limit.value()));
  std::vector<Ticks> bubbles;
  for (const ZbvAutoTrial& trial : result.trials) bubbles.push_back(trial.bubble);
  CHECK(bubbles == one.bubbles);
  CHECK(result.cost == one.cost);
  recorded::check_zero_bubble_case(one, result.schedule);
}

/// Every stage its own durations (`spread` wide), bytes and delays; sometimes I keeps more for W than it frees.
Terms random_terms(Random& random, int ranks) {
  const Placement placement = Placement::wave(ranks, 2);
  Terms terms{.costs = uniform_costs(placement, {.delay = 1}), .memory = default_memory(placement)};
  const Ticks spread = random.chance(50) ? 20 : 200;
  const Ticks farthest = random.chance(25) ? 1000 : 20;
  const Bytes most_kept = random.chance(25) ? 50 : 0;
  for (std::size_t slot = 0; slot < static_cast<std::size_t>(placement.slots()); ++slot) {
    for (const OpKind kind : {OpKind::Forward, OpKind::BackwardInput, OpKind::BackwardWeight})
      terms.costs.duration[index_of(kind)][slot] = random.between(spread == 20 ? 90 : 0, 90 + spread);
    for (auto* delay : {&terms.costs.forward_delay, &terms.costs.backward_delay})
      if ((*delay)[slot] > 0) (*delay)[slot] = random.between(0, farthest);
    terms.memory.activation[slot] = random.between(0, 100);
    terms.memory.released_at_input[slot] = random.between(-most_kept, terms.memory.activation[slot]);
  }
  return terms;
}

/// What `microbatches` microbatches that are half way through hold on the rank, with room for what an I keeps.
Bytes bytes_of(const Terms& terms, int ranks, int rank, int microbatches) {
  const auto down = static_cast<std::size_t>(rank);
  const auto up = static_cast<std::size_t>(2 * ranks - 1 - rank);
  const auto& memory = terms.memory;
  const Bytes kept = std::max({Bytes{0}, -memory.released_at_input[down], -memory.released_at_input[up]});
  return microbatches * (memory.activation[down] + memory.activation[up]) + kept;
}

void check_sound(const Terms& terms, int ranks, int microbatches, const std::vector<Bytes>& limit) {
  const ZbvAutoResult result = order_of(terms, ranks, microbatches, limit);
  const Schedule& schedule = result.schedule;
  REQUIRE(validate(schedule).empty());
  CHECK(schedule.placement() == Placement::wave(ranks, 2));
  CHECK(schedule.num_ops() == std::size_t{6} * static_cast<std::size_t>(ranks * microbatches));
  for (Rank rank{0}; rank < Rank(ranks); ++rank)
    CHECK(recorded::most_held(terms.memory, schedule.queue(rank)) <= limit[rank.at()]);

  const Totals totals = recorded::evaluate(schedule, terms.costs);
  Ticks cost = 0;
  for (std::size_t r = 0; r < limit.size(); ++r)
    cost = std::max(cost, totals.last_end[r] - totals.first_start[r]);
  CHECK(result.cost == cost);
  CHECK(result.best.bubble == cost - *std::max_element(totals.busy.begin(), totals.busy.end()));
  REQUIRE(result.trials.size() == kZbvAutoSettings.size());
  const auto cheaper = [](const ZbvAutoTrial& a, const ZbvAutoTrial& b) { return a.bubble < b.bubble; };
  CHECK(result.best == *std::min_element(result.trials.begin(), result.trials.end(), cheaper));
}

}  // namespace

TEST_CASE("zbv-auto order: recorded orders, times, memory, and the bubbles of all settings") {
  const auto cases = recorded::zero_bubble_cases("zbv_auto");
  REQUIRE(cases.size() == 288);
  for (const auto& one : cases) check_recorded(one);
}

TEST_CASE("zbv-auto order: a setting asked for is the only one tried, with the same bubble") {
  for (const auto& one : recorded::zero_bubble_cases("zbv_auto")) {
    const int p = one.params.ranks;
    const int m = one.params.microbatches;
    if (p > 8 || m > 24) continue;
    INFO(one.id);
    const Ticks work = m * 2 * (one.costs.forward + one.costs.backward_input + one.costs.backward_weight);
    for (std::size_t i = 0; i < kZbvAutoSettings.size(); ++i) {
      const auto result = order_of(one.terms(Placement::wave(p, 2)), p, m, same_limit(p, one.limit.value()),
                                   kZbvAutoSettings[i]);
      CHECK(result.trials == std::vector{result.best});
      CHECK(result.best == ZbvAutoTrial{.setting = kZbvAutoSettings[i], .bubble = one.bubbles[i]});
      CHECK(result.cost == work + one.bubbles[i]);
    }
  }
}

TEST_CASE("zbv-auto order: unequal stages, delays and memory, limits of p microbatches and more") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const int p = static_cast<int>(random.between(1, 16));
    const int m = static_cast<int>(random.between(1, random.chance(80) ? 24 : 64));
    INFO("seed " << seed << ", p = " << p << ", m = " << m);
    const Terms terms = random_terms(random, p);
    std::vector<Bytes> limit;
    for (int r = 0; r < p; ++r)
      limit.push_back(bytes_of(terms, p, r, p) + (random.chance(50) ? random.between(0, 100 * p) : 0));
    check_sound(terms, p, m, limit);
  }
}

TEST_CASE("zbv-auto order: limits below p microbatches, down to one, are kept too") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const int p = static_cast<int>(random.between(1, 9));
    const int m = static_cast<int>(random.between(1, 20));
    INFO("seed " << seed << ", p = " << p << ", m = " << m);
    const Terms terms = random_terms(random, p);
    std::vector<Bytes> limit;
    for (int r = 0; r < p; ++r)
      limit.push_back(bytes_of(terms, p, r, static_cast<int>(random.between(1, p))));
    check_sound(terms, p, m, limit);
  }
}

TEST_CASE("zbv-auto order: one rank") {
  // Both chunks on one rank, nothing to wait for: no idle time. Two passes fit, so each forward of microbatch 1 needs a W first.
  const auto result = order_of(unit_terms(1), 1, 2, {4});
  CHECK(queue_text(result.schedule, Rank(0)) == "0F0 1F0 1I0 1W0 0F1 0I0 0W0 1F1 1I1 0I1 1W1 0W1");
  CHECK(result.best.bubble == 0);
  CHECK(result.cost == 2 * 2 * 3);
}

TEST_CASE("zbv-auto order: one microbatch") {
  // It runs down and up the V twice, 4p passes, the last of them the I of rank 0, whose W follows; rank 0 has the longest window.
  // All it has to do is 6 passes; one W is done while it waits.
  for (const int p : {2, 3, 5, 16}) {
    const auto result = order_of(unit_terms(p), p, 1, same_limit(p, 4 * p));
    INFO("p = " << p);
    CHECK(queue_text(result.schedule, Rank(0)) == fmt::format("0F0 {0}F0 {0}I0 {0}W0 0I0 0W0", 2 * p - 1));
    CHECK(result.cost == 4 * p + 1);
    CHECK(result.best.bubble == 4 * p + 1 - 6);
  }
  check_sound(unit_terms(1), 1, 1, {4});
}

TEST_CASE("zbv-auto order: one microbatch at a time where no more fits") {
  // Two passes fit. Rank 0 must have done all of microbatch k before F(5, k + 1); between the start of F(5, k) and that lie 2p + 1
  // passes of the chain and a W. The first F(5, 0) starts at 2p - 1.
  const auto result = order_of(unit_terms(3), 3, 4, same_limit(3, 4));
  CHECK(validate(result.schedule).empty());
  CHECK(result.cost >= 5 + 4 * (7 + 1));
}

TEST_CASE("zbv-auto order: a limit without room for one microbatch is reported") {
  Terms terms = unit_terms(3);
  // Rank 1 holds stages 1 and 4: 5 + 2 bytes, and I of stage 4 adds 3 until its W.
  terms.memory.activation[1] = 5;
  terms.memory.released_at_input[4] = -3;
  const auto outcome = zbv_auto_order(terms, 3, 8, std::vector<Bytes>{4, 9, 3});
  REQUIRE(std::holds_alternative<ZbvAutoShortage>(outcome));
  const auto& shortage = std::get<ZbvAutoShortage>(outcome);
  CHECK(shortage.rank == Rank(1));
  CHECK(shortage.limit == 9);
  CHECK(shortage.needed == 5 + 2 + 3);
  check_sound(terms, 3, 8, {4, 10, 4});
}

TEST_CASE("zbv-auto order: nearly equal stages cost hardly more than in the order made for equal ones") {
  // Up to 5 percent either way. The order by hand keeps all ranks busy for equal stages; one forward too few in warm-up would cost
  // up to 9 percent here.
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    const int p = static_cast<int>(random.between(2, 10));
    const int m = static_cast<int>(random.between(2 * p, 3 * p));
    INFO("seed " << seed << ", p = " << p << ", m = " << m);
    Terms terms = unit_terms(p);
    for (auto& of_slot : terms.costs.duration)
      for (Ticks& duration : of_slot) duration = random.between(95, 105);
    const auto by_hand = recorded::make_named("zbv", {.ranks = p, .microbatches = m, .chunks = 2});
    const Totals totals = recorded::evaluate(by_hand, terms.costs);
    Ticks cost = 0;
    for (std::size_t r = 0; r < totals.busy.size(); ++r)
      cost = std::max(cost, totals.last_end[r] - totals.first_start[r]);
    CHECK(order_of(terms, p, m, same_limit(p, 4 * p)).cost * 100 <= cost * 102);
  }
}

TEST_CASE("zbv-auto order: the idle time of ranks with less to do costs nothing") {
  // Rank 0 has twice the work of the others, which wait for it: that is no bubble.
  Terms terms = unit_terms(4);
  for (const OpKind kind : {OpKind::Forward, OpKind::BackwardInput, OpKind::BackwardWeight})
    for (const std::size_t slot : {std::size_t{0}, std::size_t{7}})
      terms.costs.duration[index_of(kind)][slot] = 2;
  const auto result = order_of(terms, 4, 32, same_limit(4, 4 * 4));
  CHECK(result.best.bubble == 0);
  CHECK(result.cost == 32 * 2 * 3 * 2);
}

}  // namespace pipeloom::zbv_auto_order_test
