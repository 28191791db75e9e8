// The search for V orders within a memory limit: recorded costs, its closed form, and what every result must keep.

#include "schedules/v_adaptive_order.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

#include <pipeloom/simulate.hpp>
#include "schedules/recorded.hpp"
#include "sim/memory.hpp"
#include "sim/orders/blocks/blocks.hpp"
#include "sim/orders/search/search.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"

namespace pipeloom::schedules::v_adaptive_order_test {
namespace {

/// Every chunk pass costs and holds the same.
Terms uniform_terms(int ranks, const UniformCosts& costs, Bytes activation = 1, Bytes released_at_input = 0) {
  const Placement placement = Placement::wave(ranks, 2);
  Terms terms{.costs = uniform_costs(placement, costs), .memory = default_memory(placement)};
  std::fill(terms.memory.activation.begin(), terms.memory.activation.end(), activation);
  std::fill(terms.memory.released_at_input.begin(), terms.memory.released_at_input.end(), released_at_input);
  return terms;
}

std::vector<Bytes> same_limit(int ranks, Bytes limit) {
  return std::vector<Bytes>(static_cast<std::size_t>(ranks), limit);
}

Ticks max_window(const Schedule& schedule, const Costs& costs) {
  const Totals totals = recorded::evaluate(schedule, costs);
  Ticks window = 0;
  for (std::size_t r = 0; r < totals.busy.size(); ++r)
    window = std::max(window, totals.last_end[r] - totals.first_start[r]);
  return window;
}

/// The order found. It runs, has every op once, costs what it says, and keeps the limit.
VAdaptiveOrder found(const Terms& terms, int ranks, int microbatches, const std::vector<Bytes>& limit) {
  auto result = v_adaptive_order(terms, ranks, microbatches, limit);
  REQUIRE(std::holds_alternative<VAdaptiveOrder>(result));
  auto order = std::get<VAdaptiveOrder>(std::move(result));
  REQUIRE(validate(order.schedule).empty());
  CHECK(order.schedule.placement() == Placement::wave(ranks, 2));
  CHECK(order.schedule.num_ops() ==
        static_cast<std::size_t>(ranks) * 6 * static_cast<std::size_t>(microbatches));
  CHECK(order.cost == max_window(order.schedule, terms.costs));
  const auto peaks = measure_queues(order.schedule, terms.memory);
  for (std::size_t r = 0; r < limit.size(); ++r) CHECK(peaks[r].activation_bytes <= limit[r]);
  return order;
}

bool keeps(const Schedule& schedule, const MemoryModel& memory, const std::vector<Bytes>& limit) {
  const auto peaks = measure_queues(schedule, memory);
  for (std::size_t r = 0; r < limit.size(); ++r)
    if (peaks[r].activation_bytes > limit[r]) return false;
  return true;
}

/// How many of the fixed V schedules keep the limit. None of them is cheaper.
int count_fitting(const Terms& terms, const VAdaptiveOrder& order, const std::vector<Bytes>& limit) {
  int fitting = 0;
  for (const char* name : {"v-min", "v-half", "v-zb", "zbv"}) {
    INFO(name);
    const Schedule fixed = recorded::make_named(
        name, {.ranks = order.schedule.ranks(), .microbatches = order.schedule.microbatches(), .chunks = 2});
    if (!keeps(fixed, terms.memory, limit)) continue;
    ++fitting;
    CHECK(order.cost <= max_window(fixed, terms.costs));
  }
  return fitting;
}

/// Unequal stages and hops, some durations zero; sizes of which I releases any part, sometimes less than none.
Terms random_terms(test::Random& random, int ranks) {
  const Placement placement = Placement::wave(ranks, 2);
  Terms terms{.costs = uniform_costs(placement, {}), .memory = default_memory(placement)};
  for (const OpKind kind : {OpKind::Forward, OpKind::BackwardInput, OpKind::BackwardWeight})
    for (Ticks& duration : terms.costs.duration[index_of(kind)])
      duration = random.between(random.chance(10) ? 0 : 30, 100);
  for (Slot slot{0}; slot < Slot(placement.slots()); ++slot) {
    const auto other_rank = [&](Slot from) { return placement.rank_of(from) != placement.rank_of(slot); };
    if (slot > Slot(0) && other_rank(slot - 1)) terms.costs.forward_delay[slot.at()] = random.between(0, 40);
    if (slot + 1 < Slot(placement.slots()) && other_rank(slot + 1))
      terms.costs.backward_delay[slot.at()] = random.between(0, 40);
    terms.memory.activation[slot.at()] = random.between(5, 20);
    terms.memory.released_at_input[slot.at()] =
        random.between(random.chance(10) ? -3 : 0, terms.memory.activation[slot.at()]);
  }
  return terms;
}

}  // namespace

TEST_CASE("v-adaptive: at most the recorded costs within the recorded limits") {
  const auto cases = nlohmann::json::parse(recorded::read_text("zerobubble/v_adaptive.json"));
  REQUIRE(cases.size() == 18);
  for (const auto& one : cases) {
    INFO(one["id"].get<std::string>());
    const int p = one["p"];
    const Ticks input = one["t_b"];
    const Ticks weight = one["t_w"];
    const UniformCosts costs{.forward = one["t_f"],
                             .backward = input + weight,
                             .backward_input = input,
                             .backward_weight = weight,
                             .delay = one["t_comm"]};
    const Bytes passes = one["inflight_limit"];
    // In bytes, of which I gives back a part, and in passes, of which W ends one.
    const Bytes activation = one["m_b"];
    const Bytes released = activation - one["m_w"].get<Bytes>();
    const Terms in_bytes = uniform_terms(p, costs, activation, released);
    CHECK(found(in_bytes, p, one["m"], same_limit(p, passes * activation)).cost <= one["cost"].get<Ticks>());
    CHECK(found(uniform_terms(p, costs), p, one["m"], same_limit(p, passes)).cost <=
          one["cost"].get<Ticks>());
  }
}

TEST_CASE("v-adaptive: the closed form for p < k <= 2p passes, equal passes, no transfers, m >= 2p") {
  for (int p = 2; p <= 8; ++p)
    for (int k = p + 1; k <= 2 * p; ++k) {
      const int m = 2 * p + k % 3;
      INFO("p = " << p << ", m = " << m << ", k = " << k);
      // 6m + 6p - 3k - 1. Odd k may take one more: going through all orders of p = 2, k = 3 (m = 2, 4) and of p = 3, k = 5, m = 5 shows
      // that there is none of less.
      const Ticks bound = 6 * m + std::max(0, 6 * p - 3 * k - 1);
      const Ticks cost = found(uniform_terms(p, {}), p, m, same_limit(p, k)).cost;
      CHECK(cost >= bound);
      CHECK(cost <= bound + k % 2);
    }
}

TEST_CASE("v-adaptive: random costs, sizes and limits, down to the least limit") {
  test::Random random(7);
  int fitting = 0;
  for (int i = 0; i < 60; ++i) {
    const int p = 1 + random.below(8);
    const int m = 1 + random.below(24);
    const Terms terms = random_terms(random, p);
    std::vector<Bytes> limit;
    const auto result = v_adaptive_order(terms, p, m, same_limit(p, 0));
    REQUIRE(std::holds_alternative<LeastLimit>(result));
    const int room = random.below(4);  // of 0: none; of 3: for everything
    for (const Bytes least : std::get<LeastLimit>(result).bytes)
      limit.push_back(least + (room == 3 ? 20 * 2 * m : random.between(0, 40 * p * room / 4)));
    INFO("problem " << i << ", p = " << p << ", m = " << m << ", room " << room);
    fitting += count_fitting(terms, found(terms, p, m, limit), limit);
  }
  CHECK(fitting >= 60);  // four schedules keep each limit without end
}

TEST_CASE("v-adaptive: never above the fixed V schedules at equal passes and at the papers' times") {
  int fitting = 0;
  for (const UniformCosts& costs : {UniformCosts{}, UniformCosts{.forward = 14859,
                                                    .backward = 24685,
                                                    .backward_input = 14722,
                                                    .backward_weight = 9963,
                                                    .delay = 527}})
    for (const int m : {1, 3, 7, 12, 40})
      for (const int k : {4, 6, 8, 12}) {
        INFO("m = " << m << ", k = " << k);
        const Terms terms = uniform_terms(4, costs);
        fitting += count_fitting(terms, found(terms, 4, m, same_limit(4, k)), same_limit(4, k));
      }
  CHECK(fitting > 80);
}

TEST_CASE("v-adaptive: one byte below the least limit is refused with that limit") {
  Terms terms = uniform_terms(3, {}, 10, 4);
  terms.memory.activation[1] = 12;                 // stage 1: chunk 0 of rank 1
  std::vector<Bytes> limit = {20, 22, 20};         // both chunks of a microbatch
  CHECK(found(terms, 3, 5, limit).cost >= 6 * 5);  // rank 0's own work
  limit[1] = 21;
  const auto result = v_adaptive_order(terms, 3, 5, limit);
  REQUIRE(std::holds_alternative<LeastLimit>(result));
  CHECK(std::get<LeastLimit>(result).bytes == std::vector<Bytes>{20, 22, 20});
}

TEST_CASE("v-adaptive: hundreds of microbatches cost what the middle costs") {
  // Nothing but the two ends is idle: as with few microbatches.
  const Ticks idle = 6 * 6 - 3 * 8 - 1;
  CHECK(found(uniform_terms(6, {}), 6, 300, same_limit(6, 8)).cost == 6 * 300 + idle);
}

TEST_CASE("v-adaptive: scaled microbatches and equal results") {
  Terms terms = uniform_terms(4, {.forward = 100, .backward_input = 90, .backward_weight = 70, .delay = 9});
  test::Random random(3);
  for (int k = 0; k < 10; ++k) terms.costs.microbatch_scale.push_back(kUnitScale / 4 * random.between(1, 8));
  const auto order = found(terms, 4, 10, same_limit(4, 7));
  const auto again = found(terms, 4, 10, same_limit(4, 7));
  CHECK(order.schedule == again.schedule);
  CHECK(order.origin == again.origin);
}

TEST_CASE("v-adaptive: never above what the search of its own found that it had before", "[quality]") {
  const auto cases = nlohmann::json::parse(recorded::read_text("v_adaptive/costs.json"));
  REQUIRE(cases.size() >= 80);
  int better = 0;
  for (const auto& one : cases) {
    INFO(one.dump());
    const int p = one["p"];
    const UniformCosts costs{.forward = one["t_f"],
                             .backward = one["t_b"].get<Ticks>() + one["t_w"].get<Ticks>(),
                             .backward_input = one["t_b"],
                             .backward_weight = one["t_w"],
                             .delay = one["t_comm"]};
    const Bytes activation = one["m_b"];
    Terms terms = uniform_terms(p, costs, activation, activation - one["m_w"].get<Bytes>());
    for (const OpKind kind : {OpKind::Forward, OpKind::BackwardInput, OpKind::BackwardWeight}) {
      Ticks& last = terms.costs.duration[index_of(kind)].back();
      last = last * one["last_stage_percent"].get<Ticks>() / 100;
    }
    const Bytes limit = one["inflight_limit"].get<Bytes>() * activation;
    const Ticks recorded = one["cost"];
    const Ticks cost = found(terms, p, one["m"], same_limit(p, limit)).cost;
    CHECK(cost <= recorded);
    better += cost < recorded ? 1 : 0;
  }
  CHECK(better >= 30);
}

TEST_CASE("v-adaptive: progress rises to the end, and false cancels") {
  const Terms terms =
      uniform_terms(4, {.forward = 10, .backward_input = 14, .backward_weight = 7, .delay = 2});
  const auto limit = same_limit(4, 5);
  double last = 0;
  int calls = 0;
  const auto watch = [&](double done) {
    CHECK(done >= last);
    last = done;
    ++calls;
    return true;
  };
  CHECK(std::holds_alternative<VAdaptiveOrder>(v_adaptive_order(terms, 4, 40, limit, watch)));
  CHECK(calls >= 1);
  CHECK(last <= 1);
  int asked = 0;
  const auto result = v_adaptive_order(terms, 4, 40, limit, [&](double) { return ++asked > 1; });
  CHECK(std::holds_alternative<SearchCancelled>(result));
  CHECK(asked == 1);
}

TEST_CASE(
    "v-adaptive: its first part ends early where no order is proven the best by then, with one that is no "
    "better "
    "than the whole search's") {
  const Terms terms =
      uniform_terms(4, {.forward = 10, .backward_input = 14, .backward_weight = 7, .delay = 2});
  const auto found = [](const Terms& of, int passes, SearchPart part) {
    return std::get<VAdaptiveOrder>(v_adaptive_order(of, 4, 40, same_limit(4, passes), {}, part));
  };
  const VAdaptiveOrder first = found(terms, 5, SearchPart::First);
  const VAdaptiveOrder whole = found(terms, 5, SearchPart::Whole);
  CHECK(first.ended_early);
  CHECK_FALSE(whole.ended_early);
  CHECK(whole.cost <= first.cost);
  // Room for 2p passes: equal passes without transfers leave no rank idle, which the fixed orders show.
  const VAdaptiveOrder proven = found(uniform_terms(4, {}), 8, SearchPart::First);
  CHECK(proven.cost == 6 * 40);
  CHECK_FALSE(proven.ended_early);
  CHECK(proven.schedule == found(uniform_terms(4, {}), 8, SearchPart::Whole).schedule);
  // Progress of the first part rises to its own end.
  double last = 0;
  const auto watch = [&](double done) {
    CHECK(done >= last);
    last = done;
    return true;
  };
  CHECK(std::holds_alternative<VAdaptiveOrder>(
      v_adaptive_order(terms, 4, 40, same_limit(4, 5), watch, SearchPart::First)));
  CHECK(last == 1);
}

TEST_CASE("v-adaptive: no two passes of a stamped block meet") {
  for (std::size_t p = 1; p <= 12; ++p) {
    const auto blocks = orders::blocks(p);
    CHECK(!blocks.empty());
    for (const orders::Block& block : blocks)
      for (auto slots : orders::slots_of(block, p).slots) {
        CHECK(std::is_sorted(slots.begin(), slots.end()));  // as a microbatch meets them
        for (int& slot : slots) slot %= orders::kBlockPeriod;
        std::sort(slots.begin(), slots.end());
        CHECK(std::adjacent_find(slots.begin(), slots.end()) == slots.end());
      }
  }
}

}  // namespace pipeloom::schedules::v_adaptive_order_test
