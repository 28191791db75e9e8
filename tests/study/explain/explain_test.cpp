// Explanations: both ends exact, sums exact, and planted causes found by name.

#include "study/explain/explain.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <pipeloom/error.hpp>
#include "schedules/generator.hpp"
#include "sim/engine/simulator.hpp"
#include "study/explain/amounts.hpp"
#include "study/explain/named_causes.hpp"
#include "study/explain/shown/explain_runs.hpp"
#include "study/explain/shown/explain_table.hpp"
#include "support/catch.hpp"
#include "support/planted.hpp"

namespace pipeloom::study::explain::explain_test {
namespace {

std::shared_ptr<const Schedule> made(std::string_view name, int ranks, int microbatches, int chunks = 1) {
  const Params params{.ranks = ranks, .microbatches = microbatches, .chunks = chunks};
  return std::make_shared<const Schedule>(schedules::make(*schedules::find(name).generator, params));
}

Ticks sum_of(const Explanation& found) {
  Ticks sum = 0;
  for (const Cause& cause : found.causes) sum += cause.amount;
  return sum;
}

const Cause* find_kind(const Explanation& found, CauseKind kind) {
  const auto at =
      std::find_if(found.causes.begin(), found.causes.end(), [&](const Cause& c) { return c.kind == kind; });
  return at == found.causes.end() ? nullptr : &*at;
}

Costs with_per_op(const Schedule& schedule, const Costs& costs) {
  Costs own = costs;
  for (std::size_t i = 0; i < schedule.num_ops(); ++i) own.per_op.push_back(costs.op_duration(schedule, i));
  return own;
}

TEST_CASE("Shapley's values of two causes of which either is enough are halves", "[explain]") {
  // Each alone adds 10, both add 10: the mean of 10 (first) and 0 (second).
  CHECK(shapley(2, {100, 110, 110, 110}) == std::vector<Ticks>{5, 5});
  // Nothing alone, 7 together: 3.5 each, and the odd tick goes to the first.
  CHECK(shapley(2, {0, 0, 0, 7}) == std::vector<Ticks>{4, 3});
}

TEST_CASE("quotients keep their sum", "[explain]") {
  // 10 / 3 = 3.33, 10 / 3, -5 / 3 = -1.67: together 15 / 3 = 5 = 3 + 4 - 2 or 4 + 3 - 2.
  const std::vector<Ticks> means = divide_exactly({10, 10, -5}, 3);
  CHECK(std::accumulate(means.begin(), means.end(), Ticks{0}) == 5);
}

TEST_CASE("times with gaps below the rank's time per message have no cause where they are predicted",
          "[explain]") {
  const auto schedule = made("1f1b", 4, 8);
  // Entries stand 1 apart where a message takes 5 of a rank: another model of transfers made these times.
  const Timeline timeline = simulate(
      schedule, uniform_costs(schedule->placement(), {.forward = 10'000, .backward = 20'000, .delay = 1}));
  const Explanation found = explain({.timeline = timeline, .rank_time = 5'000}, timeline);
  CHECK(found.measured == found.predicted);
  CHECK(found.causes.empty());
}

TEST_CASE("the same times have no cause", "[explain]") {
  const auto schedule = made("1f1b", 4, 8);
  const Timeline timeline = simulate(schedule, default_costs(schedule->placement()));
  const Explanation found = explain({.timeline = timeline}, timeline);
  CHECK(found.causes.empty());
  CHECK(found.hidden.empty());
  CHECK(found.measured == found.predicted);
}

TEST_CASE("a slow rank has its whole effect", "[explain]") {
  // Rank 3 of 1F1B is busy in the steady state, so that 20 % on it are 20 % of its F + B for each microbatch: 8 * 0.2 * 3.
  const auto schedule = made("1f1b", 4, 8);
  const Costs costs = default_costs(schedule->placement());
  Costs slow = with_per_op(*schedule, costs);
  for (std::size_t i = 0; i < schedule->num_ops(); ++i)
    if (schedule->rank_of_op(i) == Rank(3)) slow.per_op[i] += slow.per_op[i] / 5;
  const Predicted predicted{.timeline = simulate(schedule, costs),
                            .costs = std::make_shared<const Costs>(costs)};
  const Explanation found = explain(predicted, simulate(schedule, slow));
  REQUIRE(found.causes.size() == 1);
  CHECK(found.causes[0].kind == CauseKind::Rank);
  CHECK(found.causes[0].rank == Rank(3));
  CHECK(found.causes[0].equivalent == std::vector<std::string>{"stage 3"});
  CHECK(found.causes[0].amount == 8 * 3 * ticks_per(TimeUnit::Unit) / 5);
}

TEST_CASE("what takes the same time more for short and long ops is added, not a factor", "[explain]") {
  // F 10 and B 20: 3 more an op are 30 % of F and 15 % of B, which no one factor is. Rank 3 is busy in the steady state: 8 * 2 * 3.
  const auto schedule = made("1f1b", 4, 8);
  const Ticks unit = ticks_per(TimeUnit::Unit);
  const Costs costs = uniform_costs(schedule->placement(), {.forward = 10 * unit, .backward = 20 * unit});
  Costs slow = with_per_op(*schedule, costs);
  for (std::size_t i = 0; i < schedule->num_ops(); ++i)
    if (schedule->rank_of_op(i) == Rank(3)) slow.per_op[i] += 3 * unit;
  const Predicted predicted{.timeline = simulate(schedule, costs),
                            .costs = std::make_shared<const Costs>(costs)};
  const Explanation found = explain(predicted, simulate(schedule, slow));
  REQUIRE(found.causes.size() == 1);
  CHECK(found.causes[0].kind == CauseKind::Rank);
  CHECK(found.causes[0].rank == Rank(3));
  CHECK_FALSE(found.causes[0].factor);
  REQUIRE(found.causes[0].added);
  CHECK(std::abs(*found.causes[0].added - 3 * unit) <= unit / 1000);
  CHECK(found.causes[0].amount == 8 * 2 * 3 * unit);
  CHECK(found.causes[0].text == "rank 3 takes 3 more an op");
}

TEST_CASE("two slow stages of a rank are two causes", "[explain]") {
  // Stages 1, 5, 9 and 13 are rank 1's; two of the four are slow, so that neither the rank nor one of them says it.
  const auto schedule = made("interleaved-1f1b", 4, 16, 4);
  const Costs costs = default_costs(schedule->placement());
  Costs slow = with_per_op(*schedule, costs);
  for (std::size_t i = 0; i < schedule->num_ops(); ++i) {
    const Stage stage = schedule->ops()[i].stage();
    if (stage == Stage(1)) slow.per_op[i] += slow.per_op[i] * 3 / 10;
    if (stage == Stage(9)) slow.per_op[i] += slow.per_op[i] / 2;
  }
  const Predicted predicted{.timeline = simulate(schedule, costs),
                            .costs = std::make_shared<const Costs>(costs)};
  const Explanation found = explain(predicted, simulate(schedule, slow));
  REQUIRE(found.causes.size() == 2);
  CHECK(found.causes[0].stage == Stage(9));
  CHECK(*found.causes[0].factor == Approx(1.5));
  CHECK(found.causes[1].stage == Stage(1));
  CHECK(*found.causes[1].factor == Approx(1.3));
}

TEST_CASE("where a rank has two stages only, both slow ones are another name of the rank and one of them",
          "[explain]") {
  const auto schedule = made("interleaved-1f1b", 4, 16, 2);
  const Costs costs = default_costs(schedule->placement());
  Costs slow = with_per_op(*schedule, costs);
  for (std::size_t i = 0; i < schedule->num_ops(); ++i) {
    const Stage stage = schedule->ops()[i].stage();
    if (stage == Stage(1)) slow.per_op[i] += slow.per_op[i] * 3 / 10;
    if (stage == Stage(5)) slow.per_op[i] += slow.per_op[i] / 2;
  }
  const Predicted predicted{.timeline = simulate(schedule, costs),
                            .costs = std::make_shared<const Costs>(costs)};
  const Explanation found = explain(predicted, simulate(schedule, slow));
  const Cause* rank = find_kind(found, CauseKind::Rank);
  REQUIRE(rank != nullptr);
  CHECK(rank->rank == Rank(1));
  CHECK(rank->equivalent == std::vector<std::string>{"stage 1 by 30.0 %, stage 5 by 50.0 %"});
}

TEST_CASE("a slow rank is what makes work uneven", "[explain]") {
  // 1F1B, p = m = 2, F 1, B 2, and rank 1 twice as slow. On rank 1 stand F0 B0 F1 B1, between 0F0 and 0B1.
  //   o: rank 0 1 and 2, rank 1 2 and 4:        1 + 2 (2 + 4) + 2         = 15
  //   i: all at the means, 1.5 and 3:           1.5 + 2 (1.5 + 3) + 3     = 13.5
  //   r: rank 1 at the means, rank 0 as it is:  1 + 2 (1.5 + 3) + 2       = 12
  //   a: rank 1 as it is, rank 0 at the means:  1.5 + 2 (2 + 4) + 3       = 16.5
  const auto schedule = made("1f1b", 2, 2);
  const Costs costs = default_costs(schedule->placement());
  Costs slow = with_per_op(*schedule, costs);
  for (std::size_t i = 0; i < schedule->num_ops(); ++i)
    if (schedule->rank_of_op(i) == Rank(1)) slow.per_op[i] *= 2;
  const Explanation found = explain({.timeline = simulate(schedule, costs)}, simulate(schedule, slow));
  REQUIRE(found.stragglers);
  CHECK(found.stragglers->slowdown == Approx(15 / 13.5));
  CHECK(found.stragglers->workers.ranks == std::vector<Rank>{Rank(1)});
  CHECK(found.stragglers->workers.removed == Approx((15 - 12) / (15 - 13.5)));
  CHECK(found.stragglers->workers.added == Approx((16.5 - 13.5) / (15 - 13.5)));
  // The last stage is the only one of that rank.
  CHECK(found.stragglers->last_stage.ranks == std::vector<Rank>{Rank(1)});
  CHECK(found.stragglers->last_stage.removed == found.stragglers->workers.removed);
}

TEST_CASE("even work has no stragglers", "[explain]") {
  const auto schedule = made("1f1b", 4, 8);
  const Timeline timeline = simulate(schedule, default_costs(schedule->placement()));
  CHECK_FALSE(explain({.timeline = timeline}, timeline).stragglers);
}

TEST_CASE("a comparison explains a timeline of the ops that the baseline predicts", "[explain]") {
  const auto schedule = made("1f1b", 4, 8);
  const auto costs = std::make_shared<const Costs>(default_costs(schedule->placement()));
  Run predicted;
  predicted.schedule = schedule;
  predicted.costs = costs;
  predicted.timeline = simulate(schedule, *costs);
  Run measured;
  measured.source = RunSource::TimelineFile;
  measured.schedule = schedule;
  Costs slow = with_per_op(*schedule, *costs);
  for (std::size_t i = 0; i < schedule->num_ops(); ++i)
    if (schedule->rank_of_op(i) == Rank(3)) slow.per_op[i] += slow.per_op[i] / 5;
  measured.timeline = simulate(schedule, slow);
  const auto found = explanation_between(predicted, measured);
  REQUIRE(found);
  CHECK(found->causes.at(0).rank == Rank(3));
  // Two measurements, or two simulations: nobody predicts.
  CHECK_FALSE(explanation_between(measured, measured));
  CHECK_FALSE(explanation_between(predicted, predicted));
  // Other ops.
  measured.schedule = made("1f1b", 4, 9);
  measured.timeline = simulate(measured.schedule, default_costs(measured.schedule->placement()));
  CHECK_FALSE(explanation_between(predicted, measured));
}

TEST_CASE("amounts sum to the difference, whatever the times are", "[explain]") {
  // Any durations and delays at all: nothing but the sum is promised of them.
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const test::PlantedRun run = test::plant(seed, {.sigma = 0.4,
                                                    .jitter = 0.5,
                                                    .wrong_costs = 0.3,
                                                    .clocks = seed % 2 == 0 ? 0.0 : 1.0,
                                                    .steps = 1 + static_cast<int>(seed % 3)});
    const Explanation found = explain(run.predicted, run.measured);
    CAPTURE(seed, run.shape);
    CHECK(sum_of(found) == found.measured - found.predicted);
    if (run.measured.steps == 1 && !found.clocks_apart)
      CHECK(found.measured == span_of(run.measured).length());
  }
}

TEST_CASE("a timeline alone is a prediction too", "[explain]") {
  const test::PlantedRun run = test::plant(3, {.sigma = 0.02});
  const Explanation found = explain({.timeline = run.predicted.timeline}, run.measured);
  CHECK(sum_of(found) == found.measured - found.predicted);
  CHECK(found.predicted == span_of(run.predicted.timeline).length());
}

TEST_CASE("planted causes are named", "[explain]") {
  struct World {
    const char* name;
    test::PlantedWorld world;
    int right;      // of 60 at least
    double stated;  // part of the amounts within two of their stated spreads
  };
  const std::vector<World> worlds = {{"noise 1 %", {.sigma = 0.01}, 59, 0.95},
                                     {"noise 3 %", {.sigma = 0.03}, 58, 0.95},
                                     {"clocks", {.sigma = 0.01, .clocks = 2}, 58, 0.95},
                                     {"latencies", {.sigma = 0.01, .jitter = 0.3}, 56, 0.9},
                                     {"wrong costs", {.sigma = 0.01, .wrong_costs = 0.03}, 50, 0.88}};
  for (const World& world : worlds) {
    int right = 0;
    int within = 0;
    int within_stated = 0;
    int amounts = 0;
    std::string told;
    for (std::uint64_t seed = 100; seed < 160; ++seed) {
      const test::PlantedRun run = test::plant(seed, world.world);
      const Explanation found = explain(run.predicted, run.measured);
      REQUIRE(sum_of(found) == found.measured - found.predicted);
      const test::Verdict verdict = test::judge(run, found);
      right += verdict.right ? 1 : 0;
      within += verdict.within;
      amounts += static_cast<int>(verdict.amounts.size());
      for (const test::JudgedAmount& of : verdict.amounts)
        within_stated += std::abs(of.amount - of.truth) <= 2 * of.stated_sd ? 1 : 0;
      if (!verdict.right) told += test::told(run, found) + verdict.why;
    }
    INFO(world.name << "\n" << told);
    CHECK(right >= world.right);
    CHECK(within >= 0.95 * amounts);
    CHECK(within_stated >= world.stated * amounts);
  }
}

TEST_CASE("nothing planted, nothing named", "[explain]") {
  for (const test::PlantedWorld& world : {test::PlantedWorld{.sigma = 0.03, .causes = 0},
                                          test::PlantedWorld{.sigma = 0.01, .jitter = 0.3, .causes = 0},
                                          test::PlantedWorld{.sigma = 0.01, .wrong_costs = 0.03, .causes = 0},
                                          test::PlantedWorld{.sigma = 0.01, .clocks = 2, .causes = 0}}) {
    int named = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const test::PlantedRun run = test::plant(seed, world);
      named += test::judge(run, explain(run.predicted, run.measured)).false_name ? 1 : 0;
    }
    CHECK(named <= 1);
  }
}

/// The predicted step, but for every op of these ranks beginning so much later than its rank is free and its messages are there. REQUIRES: no groups.
Timeline with_gaps(const Predicted& predicted, Ticks gap, const std::vector<Rank>& ranks) {
  const Wiring wiring = wire(*predicted.timeline.schedule, predicted);
  Residuals late{std::vector<Ticks>(wiring.entries()), std::vector<Ticks>(wiring.entries()),
                 std::vector<Ticks>(wiring.messages.size())};
  for (std::size_t e = 0; e < wiring.entries(); ++e)
    if (std::find(ranks.begin(), ranks.end(), wiring.rank[e]) != ranks.end()) late.late[e] = gap;
  const Order order = order_of(wiring);
  const std::vector<Ticks> none(wiring.links.size(), 0);
  Times times = run(wiring, {&order, wiring.predicted, none, predicted.rank_time, &late});
  Timeline timeline = predicted.timeline;
  timeline.start = std::move(times.start);
  timeline.end = std::move(times.end);
  return timeline;
}

TEST_CASE("a rank that is idle between its ops has one cause, and no link has", "[explain]") {
  // F 10 ms, B 20 ms, 300 us before each of the 8 F and 8 B of rank 3, which is busy from its first op to its last.
  const auto schedule = made("1f1b", 4, 8);
  constexpr Ticks kUs = 1'000'000;
  const Costs costs =
      uniform_costs(schedule->placement(),
                    {.forward = 10'000 * kUs, .backward = 20'000 * kUs, .unit = TimeUnit::Microsecond});
  const Predicted predicted{.timeline = simulate(schedule, costs),
                            .costs = std::make_shared<const Costs>(costs)};
  const Explanation found = explain(predicted, with_gaps(predicted, 300 * kUs, {Rank(3)}));
  CHECK(find_kind(found, CauseKind::Link) == nullptr);
  REQUIRE(find_kind(found, CauseKind::Pause) != nullptr);
  const Cause& pause = *find_kind(found, CauseKind::Pause);
  CHECK(pause.rank == Rank(3));
  CHECK(pause.text == "rank 3 is idle between ops, 300 us each");
  CHECK(pause.amount == Approx(16 * 300 * kUs).epsilon(0.01));
  CHECK(sum_of(found) == found.measured - found.predicted);
}

TEST_CASE("a rank that begins its steps late is no slow link", "[explain]") {
  // In three steps rank 1 begins 12 ms late; its later messages come in half a millisecond, as predicted.
  const auto schedule = made("1f1b", 2, 8);
  constexpr Ticks kMs = 1'000'000'000;
  const Costs costs = uniform_costs(
      schedule->placement(),
      {.forward = 10 * kMs, .backward = 20 * kMs, .delay = kMs / 2, .unit = TimeUnit::Millisecond});
  const Predicted predicted = {.timeline = simulate(schedule, costs),
                               .costs = std::make_shared<const Costs>(costs)};
  const std::size_t first = schedule->queue_begin(Rank(1));
  Costs late = with_per_op(*schedule, costs);
  late.per_op[first] += 12 * kMs;
  Timeline step = simulate(schedule, late);
  step.start[first] += 12 * kMs;
  Timeline measured{.schedule = schedule, .steps = 3, .unit = TimeUnit::Millisecond, .start = {}, .end = {}};
  for (int s = 0; s < 3; ++s)
    for (std::size_t i = 0; i < schedule->num_ops(); ++i) {
      measured.start.push_back(step.start[i] + s * 1000 * kMs);
      measured.end.push_back(step.end[i] + s * 1000 * kMs);
    }
  const Explanation found = explain(predicted, measured);
  CHECK(find_kind(found, CauseKind::Link) == nullptr);
  CHECK(found.causes.front().kind == CauseKind::Hiccup);
  CHECK(found.causes.front().rank == Rank(1));
  CHECK(found.causes.front().added == 3 * 12 * kMs);
  CHECK(found.causes.front().ops.front() == schedule->ops()[first]);
}

TEST_CASE("where all ranks are idle between ops that is one cause", "[explain]") {
  const auto schedule = made("zb-h1", 4, 8);
  constexpr Ticks kUs = 1'000'000;
  const Costs costs = uniform_costs(schedule->placement(), {.forward = 10'000 * kUs,
                                                            .backward_input = 10'000 * kUs,
                                                            .backward_weight = 9'000 * kUs,
                                                            .delay = 50 * kUs,
                                                            .unit = TimeUnit::Microsecond});
  const Predicted predicted{.timeline = simulate(schedule, costs),
                            .costs = std::make_shared<const Costs>(costs)};
  const Timeline measured = with_gaps(predicted, 200 * kUs, {Rank(0), Rank(1), Rank(2), Rank(3)});
  const Explanation found = explain(predicted, measured);
  REQUIRE(!found.causes.empty());
  CHECK(found.causes[0].kind == CauseKind::Pause);
  CHECK(found.causes[0].text == "every rank is idle between ops, 200 us each");
  CHECK(find_kind(found, CauseKind::Link) == nullptr);
  CHECK(find_kind(found, CauseKind::MessageTime) == nullptr);
}

TEST_CASE("runs whose ops are launched, and whose messages jitter, have no invented cause", "[explain]") {
  constexpr Ticks kUs = 1'000'000;
  const test::PlantedWorld plain{.sigma = 0.003,
                                 .causes = 0,
                                 .steps = 5,
                                 .launch = 50 * kUs,
                                 .least_latency = 20 * kUs,
                                 .most_latency = 80 * kUs,
                                 .last_stage = 1.5};
  std::vector<test::PlantedWorld> worlds(6, plain);
  worlds[1].heavy = true;
  worlds[2].launch_hides = true;
  worlds[3].collections = 0.01;
  worlds[4].launch = 10 * kUs;
  worlds[4].early_end = 50 * kUs;
  worlds[5].steps = 1;
  for (std::size_t w = 0; w < worlds.size(); ++w)
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      const test::PlantedRun run = test::plant(seed, worlds[w]);
      const Explanation found = explain(run.predicted, run.measured);
      REQUIRE(sum_of(found) == found.measured - found.predicted);
      const test::Verdict verdict = test::judge(run, found);
      INFO("world " << w << ", seed " << seed << "\n" << test::told(run, found) << verdict.why);
      CHECK_FALSE(verdict.false_name);
    }
}

TEST_CASE("planted causes are named beside launches and jitter", "[explain]") {
  constexpr Ticks kUs = 1'000'000;
  int right = 0;
  std::string told;
  for (std::uint64_t seed = 100; seed < 160; ++seed) {
    const test::PlantedRun run = test::plant(seed, {.sigma = 0.003,
                                                    .steps = 5,
                                                    .launch = 50 * kUs,
                                                    .least_latency = 20 * kUs,
                                                    .most_latency = 80 * kUs,
                                                    .last_stage = 1.5});
    const Explanation found = explain(run.predicted, run.measured);
    const test::Verdict verdict = test::judge(run, found);
    right += verdict.right ? 1 : 0;
    if (!verdict.right) told += test::told(run, found) + verdict.why;
  }
  INFO(told);
  CHECK(right >= 59);
}

TEST_CASE("without causes the generator agrees with the simulator", "[explain]") {
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    const test::PlantedRun run = test::plant(seed, {.causes = 0});
    CAPTURE(run.shape);
    CHECK(run.measured.start == run.predicted.timeline.start);
    CHECK(run.measured.end == run.predicted.timeline.end);
  }
}

TEST_CASE("clocks that stand apart are aligned", "[explain]") {
  // Rank 2's clock is 5 s ahead, far more than any message takes; latency is the same both ways.
  const auto schedule = made("1f1b", 4, 8);
  const Costs costs = uniform_costs(schedule->placement(), {.forward = 10, .backward = 20, .delay = 2});
  const Predicted predicted{.timeline = simulate(schedule, costs),
                            .costs = std::make_shared<const Costs>(costs)};
  Timeline measured = predicted.timeline;
  for (std::size_t i = 0; i < schedule->num_ops(); ++i)
    if (schedule->rank_of_op(i) == Rank(2)) {
      measured.start[i] += 5000;
      measured.end[i] += 5000;
    }
  const Explanation found = explain(predicted, measured);
  CHECK(found.clocks_apart);
  CHECK(found.clock_offset == std::vector<Ticks>{0, 0, 5000, 0});
  CHECK(found.causes.empty());
}

TEST_CASE("ops that are missing are named", "[explain]") {
  const auto all = made("1f1b", 2, 4);
  const auto fewer = made("1f1b", 2, 3);
  const Costs costs = default_costs(all->placement());
  const Predicted predicted{.timeline = simulate(all, costs)};
  CHECK_THROWS_AS(explain(predicted, simulate(fewer, costs)), InputError);
}

TEST_CASE("causes too small for a row of the table are below it", "[explain]") {
  Explanation found;
  Cause costs{.kind = CauseKind::Costs};
  for (int i = 0; i < 8; ++i) costs.equivalent.push_back(std::string(1, static_cast<char>('a' + i)));
  costs.text = text_of(costs, TimeUnit::Millisecond);
  found.causes = {costs};
  CHECK(costs.text == "predicted costs that are wrong, and 8 causes too small to name");
  CHECK(lines_below(found) == std::vector<std::string>{"too small to name:", "  a", "  b", "  c", "  d",
                                                       "  e", "  f", "  and 2 more"});
  found.causes.front().equivalent.clear();
  CHECK(lines_below(found).empty());
}

TEST_CASE("an order that differs is a cause", "[explain]") {
  // GPipe's queues against 1F1B's: equal costs give equal steps, so the order differs without effect.
  const auto predicted = made("1f1b", 4, 8);
  const auto measured = made("gpipe", 4, 8);
  const Costs costs = default_costs(predicted->placement());
  const Explanation found = explain({.timeline = simulate(predicted, costs)}, simulate(measured, costs));
  CHECK(sum_of(found) == found.measured - found.predicted);
  const bool hidden = std::any_of(found.hidden.begin(), found.hidden.end(),
                                  [](const Cause& cause) { return cause.kind == CauseKind::Order; });
  CHECK((hidden || find_kind(found, CauseKind::Order) != nullptr));
}

}  // namespace
}  // namespace pipeloom::study::explain::explain_test
