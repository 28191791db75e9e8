// Costs as the engine reads them, and the spans of a timeline.

#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/simulate.hpp>
#include "support/catch.hpp"
#include "support/scenes.hpp"

namespace pipeloom::costs_test {
namespace {

using Times = std::vector<Ticks>;

}  // namespace

TEST_CASE("without any costs F, I and W take one unit, B two, and nothing travels") {
  const Costs costs = default_costs(Placement::linear(2));
  constexpr Ticks kOne = 1'000'000'000;
  CHECK(costs.unit == TimeUnit::Unit);
  CHECK(costs.duration[index_of(OpKind::Forward)] == Times{kOne, kOne});
  CHECK(costs.duration[index_of(OpKind::Backward)] == Times{2 * kOne, 2 * kOne});
  CHECK(costs.duration[index_of(OpKind::BackwardInput)] == Times{kOne, kOne});
  CHECK(costs.duration[index_of(OpKind::BackwardWeight)] == Times{kOne, kOne});
  CHECK(costs.forward_delay == Times{0, 0});
  CHECK(costs.backward_delay == Times{0, 0});
  CHECK(costs.overlap.rule == OverlapRule::Sum);
}

TEST_CASE("uniform delays stand on hops between ranks, and on no other") {
  // Stages 0 1 | 1 0 of a wave: the hop from 1 to 2 stays on rank 1.
  const Costs wave = uniform_costs(Placement::wave(2, 2), {.delay = 5});
  CHECK(wave.forward_delay == Times{0, 5, 0, 5});   // of stage 0 there is none to wait for
  CHECK(wave.backward_delay == Times{5, 0, 5, 0});  // nor of the last
  // Replicas do not hand over to each other.
  const Costs both = uniform_costs(Placement::bidirectional(3), {.delay = 5});
  CHECK(both.forward_delay == Times{0, 5, 5, 0, 5, 5});
  CHECK(both.backward_delay == Times{5, 5, 0, 5, 5, 0});
}

TEST_CASE("a span is the first start and the last end, of all ranks or of one") {
  const Timeline timeline = test::times_in(test::scene("0F0 0B0 | 1F0 1B0"), {.forward = 2, .backward = 3});
  CHECK(span_of(timeline) == Span{0, 10});
  CHECK(span_of(timeline, Rank(1)) == Span{2, 7});
  CHECK(span_of(timeline, Rank(1)).length() == 5);
}

TEST_CASE("a rank without ops has an empty span") {
  ScheduleBuilder out(Placement::linear(2), 1);
  out.begin_rank(Rank(0)).add(forward(Stage(0), Microbatch(0)));
  out.begin_rank(Rank(1));
  const auto schedule = std::make_shared<const Schedule>(std::move(out).build());
  const Timeline timeline = test::times_in(schedule, {.forward = 4});
  CHECK(span_of(timeline, Rank(1)) == Span{0, 0});
  CHECK(span_of(timeline) == Span{0, 4});
}

}  // namespace pipeloom::costs_test
