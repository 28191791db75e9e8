#include "sim/analysis/idle_causes.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "support/catch.hpp"
#include "support/random_problem.hpp"
#include "support/scenes.hpp"

namespace pipeloom::idle_causes_test {
namespace {

using test::scene;
using Spans = std::vector<IdleSpan>;

Spans spans_of(const std::string& text, const UniformCosts& uniform, int rank) {
  const auto schedule = scene(text);
  const Costs costs = uniform_costs(schedule->placement(), uniform);
  return idle_spans(simulate(schedule, costs), costs, Rank(rank));
}

}  // namespace

TEST_CASE("gaps with a transfer are split at the producer's end") {
  // rank 0: 0F0 0-1, 0F1 1-2, 0B0 6-8, 0B1 9-11; rank 1: 1F0 2-3, 1B0 3-5, 1F1 5-6, 1B1 6-8; each hop takes 1.
  const std::string text = "0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1";
  const UniformCosts costs{.forward = 1, .backward = 2, .delay = 1};
  CHECK(spans_of(text, costs, 0) == Spans{{2, 5, IdleCause::Warmup},      // until 1B0 ends
                                          {5, 6, IdleCause::Transfer},    // its gradient travels
                                          {8, 9, IdleCause::Transfer}});  // that of 1B1
  CHECK(spans_of(text, costs, 1) ==
        Spans{{0, 1, IdleCause::Warmup}, {1, 2, IdleCause::Transfer}, {8, 11, IdleCause::Cooldown}});
}

TEST_CASE("a rank that starts after its tensor arrived waited for the transfer no longer than predicted") {
  // The scene above, but measured: 1F0 and all behind it on rank 1 began 2 later than they could, and 0B0 3 later than it arrived.
  // Rank 1 in 0-4: 0F0 ends at 1, arrives at 2. Rank 0 in 2-11: 1B0 ends at 7, arrives at 8.
  const auto schedule = scene("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1");
  const Costs costs = uniform_costs(schedule->placement(), {.forward = 1, .backward = 2, .delay = 1});
  const Timeline measured{.schedule = schedule,
                          .steps = 1,
                          .unit = TimeUnit::Unit,
                          .start = {0, 1, 11, 13, 4, 5, 7, 8},
                          .end = {1, 2, 13, 15, 5, 7, 8, 10}};
  CHECK(idle_spans(measured, costs, Rank(0)) ==
        Spans{{2, 7, IdleCause::Warmup}, {7, 8, IdleCause::Transfer}, {8, 11, IdleCause::Warmup}});
  CHECK(idle_spans(measured, costs, Rank(1)) == Spans{{0, 1, IdleCause::Warmup},
                                                      {1, 2, IdleCause::Transfer},
                                                      {2, 4, IdleCause::Warmup},
                                                      {10, 15, IdleCause::Cooldown}});
}

TEST_CASE("between the first backward and the last forward a gap is imbalance") {
  // F = 1, B = 2: 0F0 0-1, 1F0 1-2, 1B0 2-4, 0B0 4-6, 0F1 6-7, 1F1 7-8, 1B1 8-10, 0B1 10-12.
  const std::string text = "0F0 0B0 0F1 0B1 | 1F0 1B0 1F1 1B1";
  CHECK(spans_of(text, {}, 0) == Spans{{1, 4, IdleCause::Warmup}, {7, 10, IdleCause::Cooldown}});
  CHECK(spans_of(text, {}, 1) ==
        Spans{{0, 1, IdleCause::Warmup}, {4, 7, IdleCause::Imbalance}, {10, 12, IdleCause::Cooldown}});
}

TEST_CASE("of a group's inputs the one that arrives last explains the gap") {
  // 0F0 0-2, 1F0 5-7, 1B0 7-10, group of 0F1 and 0B0 from 13: waits for 1B0, which ended at 10.
  CHECK(
      spans_of("0F0 (0F1;0B0)OVERLAP_F_B 0B1 | 1F0 1B0 1F1 1B1", {.forward = 2, .backward = 3, .delay = 3}, 0)
          .front() == IdleSpan{2, 10, IdleCause::Warmup});
}

TEST_CASE("a transfer that began before the gap counts from the gap on") {
  // Rank 1 is busy with 1F0 until 3 + 2 = 5; 0F1 ended at 4 and arrives at 4 + 3 = 7.
  CHECK(spans_of("0F0 0F1 | 1F0 1F1", {.forward = 2, .delay = 3}, 1) ==
        Spans{{0, 2, IdleCause::Warmup}, {2, 5, IdleCause::Transfer}});
  const auto schedule = scene("0F0 0F1 | 1F0 1F1");
  Costs costs = uniform_costs(schedule->placement(), {.forward = 2, .delay = 3});
  costs.duration[index_of(OpKind::Forward)] = {2, 1};
  // 1F0 5-6; 0F1 2-4 arrives at 7: the gap 6-7 is all transfer.
  CHECK(idle_spans(simulate(schedule, costs), costs, Rank(1)).back() == IdleSpan{6, 7, IdleCause::Transfer});
}

TEST_CASE("six causes have names") {
  CHECK(name_of(IdleCause::Warmup) == "warmup");
  CHECK(name_of(IdleCause::Cooldown) == "cooldown");
  CHECK(name_of(IdleCause::Imbalance) == "imbalance");
  CHECK(name_of(IdleCause::Transfer) == "transfer");
  CHECK(name_of(IdleCause::Queueing) == "queueing");
  CHECK(name_of(IdleCause::Memory) == "memory");
  IdleCauses causes;
  for (std::size_t i = 0; i < kIdleCauses; ++i) causes.of(static_cast<IdleCause>(i)) = Ticks{1} << i;
  CHECK(causes.total() == 63);
  CHECK(causes.imbalance == 4);
}

TEST_CASE("causes sum exactly to idle, and spans fill exactly the gaps, on random problems") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    auto [schedule, costs] = test::random_problem(1'400'000 + seed);
    test::Random random(seed);
    if (random.chance(50)) test::add_besides(random, *schedule, costs);
    INFO("seed " << seed);
    const Timeline timeline = simulate(schedule, costs);
    const Span whole = span_of(timeline);
    const auto causes = idle_causes(timeline, costs);
    for (Rank rank{0}; rank < Rank(schedule->ranks()); ++rank) {
      Ticks busy = 0;
      for_each_entry(*schedule, schedule->queue_begin(rank), schedule->queue_end(rank),
                     [&](std::size_t first, std::size_t last) {
                       busy += timeline.end_of(last - 1) - timeline.start_of(first);
                     });
      REQUIRE(causes[rank.at()].total() == whole.length() - busy);
      Ticks sum = 0;
      Ticks before = whole.start;
      for (const IdleSpan& span : idle_spans(timeline, costs, rank)) {
        REQUIRE(span.start >= before);
        REQUIRE(span.end > span.start);
        before = span.end;
        sum += span.end - span.start;
      }
      REQUIRE(sum == whole.length() - busy);
      REQUIRE(before <= whole.end);
    }
  }
}

TEST_CASE("without transfers nothing is called a transfer") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    auto [schedule, costs] = test::random_problem(1'500'000 + seed);
    std::fill(costs.forward_delay.begin(), costs.forward_delay.end(), 0);
    std::fill(costs.backward_delay.begin(), costs.backward_delay.end(), 0);
    INFO("seed " << seed);
    for (const IdleCauses& causes : idle_causes(simulate(schedule, costs), costs)) {
      REQUIRE(causes.transfer == 0);
      REQUIRE(causes.queueing == 0);
      REQUIRE(causes.memory == 0);
    }
  }
}

}  // namespace pipeloom::idle_causes_test
