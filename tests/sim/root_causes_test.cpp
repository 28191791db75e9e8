#include "sim/roots/root_causes.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "sim/analysis/idle_causes.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"
#include "support/scenes.hpp"

namespace pipeloom::root_causes_test {
namespace {

/// Amount of all roots of a kind.
Ticks sum_of(const std::vector<RootCause>& roots, RootKind kind) {
  TickSum sum;
  for (const RootCause& root : roots)
    if (root.kind == kind) sum += root.amount;
  return static_cast<Ticks>(sum.value());
}

std::vector<RootCause> roots_of(const std::shared_ptr<const Schedule>& schedule, const Costs& costs) {
  const Timeline timeline = simulate(schedule, costs);
  return root_causes(RootFinder(timeline, costs), all_idle_spans(timeline, costs));
}

Costs plain(const Schedule& schedule, Ticks delay = 0) {
  return uniform_costs(schedule.placement(), {.forward = 10, .backward = 20, .delay = delay});
}

}  // namespace

TEST_CASE("idle time of equal stages is the pipeline's: it fills and drains") {
  // p = 4, m = 8, F = 10, B = 20: each rank idles (p - 1)(F + B) = 90.
  const auto schedule = test::one_f_one_b(4, 8);
  const auto roots = roots_of(schedule, plain(*schedule));
  CHECK(sum_of(roots, RootKind::Fill) + sum_of(roots, RootKind::Drain) == Ticks{4} * 90);
  CHECK(sum_of(roots, RootKind::SlowStage) == 0);
}

TEST_CASE("a slow last stage of 1F1B is what the other ranks wait for") {
  // The last rank has 8 (16 + 32) = 384 to do, behind three F and in front of three B: 474. The others do 240 and idle 234, of
  // which 90 are the pipeline's as before, and 8 x (6 + 12) = 144 the slow stage's. The last rank idles 90.
  const auto schedule = test::one_f_one_b(4, 8);
  Costs costs = plain(*schedule);
  costs.duration[index_of(OpKind::Forward)][3] = 16;
  costs.duration[index_of(OpKind::Backward)][3] = 32;
  const auto roots = roots_of(schedule, costs);
  REQUIRE(roots.front().kind == RootKind::SlowStage);
  CHECK(roots.front().stage == Stage(3));
  CHECK(roots.front().amount == TickSum(Ticks{3} * 144));
  CHECK(roots.front().ratio == Approx(1.6));
  CHECK(short_text(roots.front(), *schedule) == "stage 3, 1.6 x the others");
  CHECK(long_text(roots.front(), *schedule) == "F and B of stage 3 take 1.6 x as long as the others'");
  // B costs most. Its largest part is in one of the gaps of 18 between two B of a rank that waits.
  CHECK(schedule->ops()[roots.front().op].kind() == OpKind::Backward);
  CHECK(schedule->ops()[roots.front().op].stage() == Stage(3));
  CHECK(roots.front().at.value() < 3);
  CHECK(sum_of(roots, RootKind::Fill) + sum_of(roots, RootKind::Drain) == Ticks{4} * 90);
}

TEST_CASE("a gap names the slow stage two ranks away, not its neighbour") {
  // Rank 0 between 0B0 and 0B1 of the run above: 0B1 waits for 1B1, but what makes it late is 3F1 and 3B1.
  const auto schedule = test::one_f_one_b(4, 8);
  Costs costs = plain(*schedule);
  costs.duration[index_of(OpKind::Forward)][3] = 16;
  costs.duration[index_of(OpKind::Backward)][3] = 32;
  const Timeline timeline = simulate(schedule, costs);
  const RootFinder finder(timeline, costs);
  // 3B0 ends at 78, 0B0 runs 118-138 with 0F4 behind it until 148; 3B1 ends 48 later, so that 0B1 starts at 166.
  const auto roots = finder.of(Rank(0), {148, 166, IdleCause::Imbalance});
  REQUIRE(roots.size() == 1);
  CHECK(roots.front().kind == RootKind::SlowStage);
  CHECK(roots.front().amount == TickSum(18));
}

TEST_CASE("one long op delays the ranks that wait for it") {
  // 1B3 takes 20 more, on a rank that has nothing to spare: each other rank idles 20 more, as it has to end 20 later.
  const auto schedule = test::one_f_one_b(4, 8);
  Costs costs = plain(*schedule);
  for (const Op op : schedule->ops())
    costs.per_op.push_back(op == backward(Stage(1), Microbatch(3)) ? 40
                           : op.kind() == OpKind::Forward          ? 10
                                                                   : 20);
  const auto roots = roots_of(schedule, costs);
  const Timeline timeline = simulate(schedule, costs);
  CHECK(span_of(timeline).length() == 350);
  // Three ranks idle 20 more; rank 1 itself is busy.
  CHECK(sum_of(roots, RootKind::LongOp) == 60);
  for (const RootCause& root : roots)
    if (root.kind == RootKind::LongOp) CHECK(short_text(root, *schedule) == "long 1B3");
}

TEST_CASE("a slow microbatch is one cause, whatever stages it is long on") {
  const auto schedule = test::one_f_one_b(4, 8);
  Costs costs = plain(*schedule);
  for (const Op op : schedule->ops())
    costs.per_op.push_back((op.kind() == OpKind::Forward ? Ticks{10} : Ticks{20}) *
                           (op.microbatch() == Microbatch(5) ? 3 : 1));
  const auto roots = roots_of(schedule, costs);
  int long_ones = 0;
  for (const RootCause& root : roots) {
    if (root.kind != RootKind::LongOp) continue;
    ++long_ones;
    CHECK(short_text(root, *schedule) == "microbatch 5");
  }
  CHECK(long_ones == 1);
}

TEST_CASE("a message is named by its two ranks, wherever its time shows") {
  // 0F0 0-10, 1F0 17-27, 1B0 27-47, 0B0 54-74. Rank 1 waits 10 for 0F0 and 7 for its message, and behind 1B0 7 for the other
  // message and 20 for 0B0; rank 0 waits 7 + 30 until 1B0 ends, and 7 for its message.
  const auto schedule = test::one_f_one_b(2, 1);
  const auto roots = roots_of(schedule, plain(*schedule, 7));
  CHECK(sum_of(roots, RootKind::Fill) == 10 + 30);
  CHECK(sum_of(roots, RootKind::Drain) == 20);
  CHECK(sum_of(roots, RootKind::Message) == 14 + 14);
  REQUIRE(roots.size() == 4);
  CHECK(short_text(roots[2], *schedule) == "messages 0 to 1");
  CHECK(short_text(roots[3], *schedule) == "messages 1 to 0");
}

TEST_CASE("chains that stay as far apart are one: a walk is as long as the pipeline, not as the run") {
  // Equal stages: rank 0's chain and rank 1's go back side by side through all 1,000 microbatches.
  const auto schedule = test::one_f_one_b(4, 1000);
  const Costs costs = plain(*schedule);
  const Timeline timeline = simulate(schedule, costs);
  const RootFinder finder(timeline, costs);
  std::size_t most = 0;
  for (Rank rank{0}; rank < Rank(4); ++rank)
    for (const IdleSpan& span : idle_spans(timeline, costs, rank)) {
      std::size_t looked_at = 0;
      static_cast<void>(finder.of(rank, span, [&](std::size_t) { ++looked_at; }));
      most = std::max(most, looked_at);
    }
  CHECK(most > 0);
  CHECK(most < 64);
  const auto roots = root_causes(finder, all_idle_spans(timeline, costs));
  CHECK(sum_of(roots, RootKind::Fill) + sum_of(roots, RootKind::Drain) == Ticks{4} * 90);
}

TEST_CASE("roots sum exactly to the idle time of every span, on random problems") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    auto [schedule, costs] = test::random_problem(1'600'000 + seed);
    test::Random random(seed);
    if (random.chance(50)) test::add_besides(random, *schedule, costs);
    INFO("seed " << seed);
    const Timeline timeline = simulate(schedule, costs);
    const RootFinder finder(timeline, costs);
    for (Rank rank{0}; rank < Rank(schedule->ranks()); ++rank)
      for (const IdleSpan& span : idle_spans(timeline, costs, rank)) {
        TickSum sum;
        for (const RootCause& root : finder.of(rank, span)) {
          REQUIRE(root.amount > 0);
          REQUIRE_FALSE(long_text(root, *schedule).empty());
          REQUIRE_FALSE(short_text(root, *schedule).empty());
          sum += root.amount;
        }
        REQUIRE(sum == TickSum(span.end - span.start));
      }
  }
}

}  // namespace pipeloom::root_causes_test
