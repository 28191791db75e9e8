// Slack 1F1B against the orders that its authors' simulator was recorded to find, its warm-ups against their rule, and its limit.

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>
#include "schedules/recorded.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"

namespace pipeloom::slack_1f1b_test {
namespace {

using namespace schedules;

Schedule make_slack(const Terms& terms, const Params& params) {
  Emission said;
  return make(*find("slack-1f1b").generator, params, terms, said);
}

/// Forwards before the first I of each rank.
std::vector<int> warmups(const Schedule& schedule) {
  std::vector<int> found;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    const auto queue = schedule.queue(rank);
    const auto first =
        std::find_if(queue.begin(), queue.end(), [](Op op) { return op.kind() == OpKind::BackwardInput; });
    found.push_back(static_cast<int>(first - queue.begin()));
  }
  return found;
}

std::vector<Ticks> rounded_up(const nlohmann::json& times) {
  std::vector<Ticks> ticks;
  for (const auto& time : times) ticks.push_back(static_cast<Ticks>(std::ceil(time.get<double>())));
  return ticks;
}

/// F = I = W = 10, and a latency of its own on the link behind each rank.
Terms terms_with_links(const std::vector<Ticks>& latency) {
  const Placement placement = Placement::linear(static_cast<int>(latency.size()) + 1);
  Terms terms = uniform_terms(
      placement, {.forward = 10, .backward = 20, .backward_input = 10, .backward_weight = 10, .delay = 1});
  for (std::size_t r = 0; r < latency.size(); ++r)
    terms.costs.forward_delay[r + 1] = terms.costs.backward_delay[r] = latency[r];
  return terms;
}

Params warm_up_params(int ranks, int microbatches, std::optional<int> most = {}) {
  Params params{.ranks = ranks, .microbatches = microbatches, .options = {.variant = "warm-up"}};
  if (most) params.options.memory_limit.microbatches = *most * kUnitScale;
  return params;
}

}  // namespace

TEST_CASE("slack-1f1b: recorded orders and steps on the costs that they were recorded with") {
  const auto recorded = nlohmann::json::parse(recorded::read_text("measured/pipemorph.json"));
  REQUIRE(recorded["instances"].size() == 67);
  for (const auto& one : recorded["instances"]) {
    INFO("instance " << one["instance"].get<int>());
    const Params params{.ranks = one["ranks"], .microbatches = one["microbatches"]};
    const Placement placement = Placement::linear(params.ranks);
    const auto latency = static_cast<Ticks>(std::ceil(one["latency"].get<double>()));
    Terms terms = uniform_terms(placement, {.delay = latency});
    terms.costs.duration[index_of(OpKind::Forward)] = rounded_up(one["F"]);
    terms.costs.duration[index_of(OpKind::BackwardInput)] = rounded_up(one["B"]);
    terms.costs.duration[index_of(OpKind::BackwardWeight)] = rounded_up(one["W"]);
    const Schedule schedule = make_slack(terms, params);
    for (Rank rank{0}; rank < Rank(params.ranks); ++rank)
      CHECK(queue_text(schedule, rank) ==
            recorded::zero_bubble_text(one["orders"][rank.at()], placement, rank));
    const Totals totals = recorded::evaluate(schedule, terms.costs);
    CHECK(totals.makespan == static_cast<Ticks>(one["step_on_rounded_up_costs"].get<double>()));
  }
}

TEST_CASE("slack-1f1b: equal times and no delays give the plan that its authors' runs were recorded with") {
  const Schedule schedule = make_slack(terms_with_links({0, 0, 0}), {.ranks = 4, .microbatches = 12});
  const std::vector<std::string> plan = {"F7(BF)5(BW)7W5", "F5(BF)7(BW)5W7", "F3(BF)9(BW)3W9", "(FB)12W12"};
  for (Rank rank{0}; rank < Rank(4); ++rank)
    CHECK(queue_text(schedule, rank) ==
          recorded::zero_bubble_text(plan[rank.at()], schedule.placement(), rank));
}

TEST_CASE("slack-1f1b: warm-ups of the rule, x(r) = x(r+1) + 2 + ceil(c / F)") {
  // No delays: 1, 3, 5, 7 from the last rank upward. 25 is two and a half forwards, which ask for three more; 10 is one.
  CHECK(warmups(make_slack(terms_with_links({0, 0, 0}), warm_up_params(4, 20))) ==
        std::vector<int>{7, 5, 3, 1});
  CHECK(warmups(make_slack(terms_with_links({0, 25, 10}), warm_up_params(4, 20))) ==
        std::vector<int>{11, 9, 4, 1});
  CHECK(warmups(make_slack(terms_with_links({0, 25, 10}), warm_up_params(4, 6))) ==
        std::vector<int>{6, 6, 4, 1});
}

TEST_CASE("slack-1f1b: under a limit of A warm-ups fall evenly from A to 1") {
  const Terms terms = terms_with_links({0, 25, 10});
  // A = 9: 8 in three steps is 3, 3, 2. A = 4: 3 is 1, 1, 1. A = 2: 1 is 1, 0, 0.
  const auto under = [&](int most) { return warmups(make_slack(terms, warm_up_params(4, 20, most))); };
  CHECK(under(9) == std::vector<int>{9, 6, 3, 1});
  CHECK(under(4) == std::vector<int>{4, 3, 2, 1});
  CHECK(under(2) == std::vector<int>{2, 1, 1, 1});
  CHECK(under(1) == std::vector<int>{1, 1, 1, 1});
  CHECK(warmups(make_slack(terms_with_links({}), warm_up_params(1, 5, 3))) == std::vector<int>{3});
}

TEST_CASE("slack-1f1b: a slow link costs less than in zb-h1, whose ranks wait for it in every round") {
  const Terms terms = terms_with_links({0, 40, 0});
  const Params params{.ranks = 4, .microbatches = 40};
  const Ticks work = 40 * 30;
  const Ticks slack = recorded::evaluate(make_slack(terms, params), terms.costs).makespan;
  const Ticks fixed = recorded::evaluate(recorded::make_named("zb-h1", params), terms.costs).makespan;
  CHECK(slack ==
        work + 3 * 10 + 40);  // the last rank's first forward comes that late; nobody waits from there on
  CHECK(fixed > work + work / 2);
}

TEST_CASE("slack-1f1b: within its limit, and running, for any costs") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    test::Random random(seed);
    const int p = static_cast<int>(random.between(1, 9));
    const Placement placement = Placement::linear(p);
    Terms terms = uniform_terms(placement, {.delay = 1});
    Bytes least = 1;
    for (std::size_t r = 0; r < terms.memory.activation.size(); ++r) {
      for (const OpKind kind : {OpKind::Forward, OpKind::BackwardInput, OpKind::BackwardWeight})
        terms.costs.duration[index_of(kind)][r] = random.between(0, 50);
      for (auto* delay : {&terms.costs.forward_delay, &terms.costs.backward_delay})
        if ((*delay)[r] > 0) (*delay)[r] = random.between(0, 100);
      terms.memory.activation[r] = random.between(0, 20);
      terms.memory.released_at_input[r] = random.between(-10, terms.memory.activation[r]);
      least = std::max({least, terms.memory.activation[r],
                        terms.memory.activation[r] - terms.memory.released_at_input[r]});
    }
    Params params{.ranks = p, .microbatches = static_cast<int>(random.between(1, 24))};
    params.options.variant = random.chance(50) ? "ready" : "warm-up";
    const Bytes limit = random.between(least, 6 * least);
    params.options.memory_limit.bytes = limit;
    const Schedule schedule = make_slack(terms, params);
    REQUIRE(validate(schedule).empty());
    for (Rank rank{0}; rank < Rank(p); ++rank)
      CHECK(recorded::most_held(terms.memory, schedule.queue(rank)) <= limit);
  }
}

TEST_CASE("slack-1f1b: a limit without room for a microbatch is refused, with what it takes") {
  Terms terms = terms_with_links({0});
  terms.memory.activation = {4, 9};
  Params params{.ranks = 2, .microbatches = 3};
  params.options.memory_limit.bytes = 8;
  // The largest activation, of 9 bytes, counts as one.
  CHECK_THROWS_WITH(
      make_slack(terms, params),
      "slack-1f1b has no order within 0.9 activations of a stage on every rank: rank 1 needs 1 activation of "
      "a stage for one microbatch; raise options.memory_limit or memory.limit_bytes");
}

}  // namespace pipeloom::slack_1f1b_test
