#include "sim/memory.hpp"

#include <algorithm>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "support/catch.hpp"
#include "support/random_problem.hpp"
#include "support/scenes.hpp"

namespace pipeloom::memory_test {
namespace {

using test::scene;
using Curve = std::vector<MemoryStep>;

/// No bytes at all; tests fill in what they are about.
MemoryModel nothing(const Placement& placement) {
  MemoryModel model = default_memory(placement);
  std::fill(model.activation.begin(), model.activation.end(), 0);
  return model;
}

Bytes highest(const Curve& curve) {
  Bytes most = 0;
  for (const MemoryStep& step : curve) most = std::max(most, step.bytes);
  return most;
}

/// Most (stage, microbatch) pairs between F and B or W, counted afresh.
std::int32_t count_live(const Schedule& schedule, Rank rank) {
  std::int32_t live = 0;
  std::int32_t most = 0;
  for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                 [&](std::size_t first, std::size_t last) {
                   for (std::size_t i = first; i < last; ++i)
                     live += schedule.ops()[i].kind() == OpKind::Forward ? 1 : 0;
                   most = std::max(most, live);
                   for (std::size_t i = first; i < last; ++i) {
                     const OpKind kind = schedule.ops()[i].kind();
                     live -= kind == OpKind::Backward || kind == OpKind::BackwardWeight ? 1 : 0;
                   }
                 });
  return most;
}

}  // namespace

TEST_CASE("an activation lives from the start of its forward to the end of its backward") {
  const Timeline timeline = test::times_in(scene("0F0 0F1 0B0 0B1"), {.forward = 1, .backward = 2});
  MemoryModel model = nothing(timeline.schedule->placement());
  model.activation = {10};
  // F at 0 and 1, B ends at 4 and 6.
  CHECK(memory_curve(timeline, model, Rank(0)) == Curve{{0, 10}, {1, 20}, {4, 10}, {6, 0}});
  const auto memory = measure_memory(timeline, model).front();
  CHECK(memory.peak_live == 2);
  CHECK(memory.peak_activation_bytes == 20);
  CHECK(memory.peak_bytes == 20);
  CHECK(memory.peak_op == 1);
}

TEST_CASE("the input gradient frees its part, the weight gradient the rest") {
  const Timeline timeline = test::times_in(scene("0F0 0I0 0W0"), {.forward = 1});
  MemoryModel model = nothing(timeline.schedule->placement());
  model.activation = {10};
  model.released_at_input = {4};
  CHECK(memory_curve(timeline, model, Rank(0)) == Curve{{0, 10}, {2, 6}, {3, 0}});
}

TEST_CASE(
    "an input gradient that keeps more than it frees holds it from its end to that of the weight gradient") {
  // Two passes: 10 and 10, I of the first makes its 10 to 14.
  const Timeline timeline = test::times_in(scene("0F0 0F1 0I0 0I1 0W0 0W1"), {.forward = 1});
  MemoryModel model = nothing(timeline.schedule->placement());
  model.activation = {10};
  model.released_at_input = {-4};
  CHECK(memory_curve(timeline, model, Rank(0)) == Curve{{0, 10}, {1, 20}, {3, 24}, {4, 28}, {5, 14}, {6, 0}});
  const RankMemory memory = measure_memory(timeline, model).front();
  CHECK(memory.peak_activation_bytes == 28);
  CHECK(memory.peak_bytes == 28);
  CHECK(measure_queues(*timeline.schedule, model).front().activation_bytes == 28);
}

TEST_CASE("a pair counts as live until its weight gradient, whatever its input gradient frees") {
  const Timeline timeline = test::times_in(scene("0F0 0I0 0F1 0W0 0I1 0W1"), {});
  CHECK(measure_memory(timeline, default_memory(timeline.schedule->placement())).front().peak_live == 2);
}

TEST_CASE("one after another a release comes first, in a group the allocation does") {
  const auto peak = [](const char* text) {
    const Timeline timeline = test::times_in(scene(text), {});
    return measure_memory(timeline, default_memory(timeline.schedule->placement())).front();
  };
  CHECK(peak("0F0 0B0 0F1 0B1").peak_live == 1);
  CHECK(peak("0F0 0B0 0F1 0B1").peak_bytes == 1);
  CHECK(peak("0F0 (0F1;0B0)OVERLAP_F_B 0B1").peak_live == 2);
  CHECK(peak("0F0 (0F1;0B0)OVERLAP_F_B 0B1").peak_bytes == 2);
}

TEST_CASE("a receive buffer lives from the producer's end to the consumer's end") {
  // 0F0 0-2, 1F0 12-14, 1B0 14-17, 0B0 27-30.
  const Timeline timeline =
      test::times_in(scene("0F0 0B0 | 1F0 1B0"), {.forward = 2, .backward = 3, .delay = 10});
  MemoryModel model = nothing(timeline.schedule->placement());
  model.receive = {7, 5};
  CHECK(memory_curve(timeline, model, Rank(1)) == Curve{{0, 0}, {2, 5}, {14, 0}});
  CHECK(memory_curve(timeline, model, Rank(0)) == Curve{{0, 0}, {17, 7}, {30, 0}});
  CHECK(measure_memory(timeline, model)[1].peak_bytes == 5);
  CHECK(measure_memory(timeline, model)[1].peak_activation_bytes == 0);
}

TEST_CASE("tensors that stay on their rank need no receive buffer") {
  const Timeline timeline = test::times_in(scene("0F0 1F0 1B0 0B0"), {});
  MemoryModel model = nothing(timeline.schedule->placement());
  model.receive = {7, 5};
  CHECK(memory_curve(timeline, model, Rank(0)) == Curve{{0, 0}});
}

TEST_CASE("logits live from the last stage's forward to its input gradient") {
  const Timeline timeline = test::times_in(scene("0F0 0I0 0W0"), {.forward = 1});
  MemoryModel model = nothing(timeline.schedule->placement());
  model.logits = {6};
  CHECK(memory_curve(timeline, model, Rank(0)) == Curve{{0, 6}, {2, 0}});
}

TEST_CASE("static bytes are always there, for every replica on the rank") {
  const Timeline timeline = test::times_in(scene("0F0 1F1 0B0 1B1 | 0F1 1F0 1B0 0B1"), {});
  REQUIRE(timeline.schedule->placement().replicas() == 2);
  MemoryModel model = nothing(timeline.schedule->placement());
  model.static_bytes = {100, 20, 3000, 400};  // replica 0: stages 0, 1; replica 1: stages 0, 1
  // Rank 0 holds stage 0 of replica 0 and stage 1 of replica 1.
  CHECK(measure_memory(timeline, model)[0].peak_bytes == 100 + 400);
  CHECK(measure_memory(timeline, model)[1].peak_bytes == 20 + 3000);
  CHECK(memory_curve(timeline, model, Rank(1)) == Curve{{0, 3020}});
}

TEST_CASE("without backwards a forward frees what it took") {
  const Timeline timeline = test::times_in(scene("0F0 0F1"), {.forward = 3});
  MemoryModel model = nothing(timeline.schedule->placement());
  model.activation = {10};
  CHECK(memory_curve(timeline, model, Rank(0)) == Curve{{0, 10}, {3, 10}, {6, 0}});
  CHECK(measure_memory(timeline, model).front().peak_live == 1);
}

TEST_CASE("the first op above the limit is named") {
  const Timeline timeline = test::times_in(scene("0F0 0F1 0F2 0B0 0B1 0B2 | 1F0 1B0 1F1 1B1 1F2 1B2"), {});
  MemoryModel model = nothing(timeline.schedule->placement());
  model.activation = {10, 10};
  model.static_bytes = {5, 0};
  CHECK_FALSE(find_over_limit(timeline, model));  // no limit
  model.limit = {35, 30};                         // 5 + 3 * 10 and 3 * 10 fit exactly
  CHECK_FALSE(find_over_limit(timeline, model));
  model.limit = {34, 30};
  const auto over = find_over_limit(timeline, model);
  REQUIRE(over);
  CHECK(over->rank == Rank(0));
  CHECK(to_text(over->op) == "0F2");
  CHECK(over->bytes == 35);
  CHECK(over->limit == 34);
}

TEST_CASE("of several ranks above the limit the earliest in time is named") {
  const Timeline timeline = test::times_in(scene("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1"), {});
  MemoryModel model = nothing(timeline.schedule->placement());
  model.activation = {6, 10};
  model.limit = {9, 9};
  // Rank 1 holds 10 from time 1; rank 0 holds 12 from time 1 as well, and the lower rank is named.
  const auto over = find_over_limit(timeline, model);
  REQUIRE(over);
  CHECK(over->rank == Rank(0));
  model.activation = {4, 10};
  CHECK(find_over_limit(timeline, model)->rank == Rank(1));
}

TEST_CASE("1F1B holds p - r activations on rank r") {
  const auto schedule = test::one_f_one_b(4, 8);
  const Timeline timeline = test::times_in(schedule, {});
  const auto memory = measure_memory(timeline, default_memory(schedule->placement()));
  for (int r = 0; r < 4; ++r) CHECK(memory[static_cast<std::size_t>(r)].peak_live == 4 - r);
}

TEST_CASE("curves end with the static bytes, and their highest point is the peak") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const auto [schedule, costs] = test::random_problem(1'000'000 + seed);
    INFO("seed " << seed);
    test::Random random(seed);
    const MemoryModel model = test::random_memory(random, schedule->placement());
    const Timeline timeline = simulate(schedule, costs);
    const auto peaks = measure_memory(timeline, model);
    for (Rank rank{0}; rank < Rank(schedule->ranks()); ++rank) {
      const Curve curve = memory_curve(timeline, model, rank);
      Bytes held = 0;
      for (const Slot slot : schedule->placement().slots_of(rank)) held += model.static_bytes[slot.at()];
      REQUIRE(curve.back().bytes == held);
      REQUIRE(highest(curve) == peaks[rank.at()].peak_bytes);
      REQUIRE(std::is_sorted(curve.begin(), curve.end(),
                             [](const MemoryStep& a, const MemoryStep& b) { return a.time < b.time; }));
      REQUIRE(peaks[rank.at()].peak_live == count_live(*schedule, rank));
    }
  }
}

TEST_CASE("where every op takes time, the activation peak in time is the one in queue order") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    auto [schedule, costs] = test::random_problem(1'100'000 + seed);
    if (costs.overlap.rule == OverlapRule::Sequential) continue;  // parts of a group release one by one
    INFO("seed " << seed);
    costs.microbatch_scale.clear();
    for (auto* table : {&costs.duration[0], &costs.duration[1], &costs.duration[2], &costs.duration[3],
                        &costs.overlap.duration})
      for (Ticks& ticks : *table) ticks += 1;
    test::Random random(seed);
    MemoryModel model = nothing(schedule->placement());
    for (Bytes& bytes : model.activation) bytes = random.between(0, 50);
    for (const auto& memory : measure_memory(simulate(schedule, costs), model))
      REQUIRE(memory.peak_bytes == memory.peak_activation_bytes);
  }
}

TEST_CASE(
    "peaks in queue order are those of a timeline where every op takes time and nothing is received into "
    "buffers") {
  int with_extras = 0;
  for (std::uint64_t seed = 0; seed < 2400; ++seed) {
    const auto problem = test::random_problem(1'300'000 + seed);
    INFO("seed " << seed);
    test::Random random(seed);
    auto schedule = problem.schedule;
    if (seed % 2 == 1) schedule = std::make_shared<const Schedule>(test::random_extras(random, *schedule));
    if (schedule->has_copies() || schedule->slices() > 1) continue;
    with_extras += schedule->is_extended() ? 1 : 0;
    const Costs costs = uniform_costs(schedule->placement(), {.forward = 3, .backward = 5});
    MemoryModel model = test::random_memory(random, schedule->placement());
    std::fill(model.receive.begin(), model.receive.end(), 0);
    const auto expected = measure_memory(simulate(schedule, costs), model);
    const auto found = measure_queues(*schedule, model);
    REQUIRE(found.size() == expected.size());
    for (std::size_t r = 0; r < found.size(); ++r) {
      REQUIRE(found[r].live == expected[r].peak_live);
      REQUIRE(found[r].activation_bytes == expected[r].peak_activation_bytes);
      REQUIRE(found[r].bytes == expected[r].peak_bytes);
    }
  }
  CHECK(with_extras > 20);
}

TEST_CASE("a run is over the limit exactly if a peak is") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto [schedule, costs] = test::random_problem(1'200'000 + seed);
    INFO("seed " << seed);
    test::Random random(seed);
    MemoryModel model = test::random_memory(random, schedule->placement());
    const Timeline timeline = simulate(schedule, costs);
    Bytes peak = 0;
    model.limit.clear();
    for (const auto& memory : measure_memory(timeline, model)) {
      peak = std::max(peak, memory.peak_bytes);
      model.limit.push_back(memory.peak_bytes);  // every rank its own: none may take another's
    }
    REQUIRE_FALSE(find_over_limit(timeline, model));
    for (Bytes& limit : model.limit)
      if (limit == peak) --limit;
    const auto over = find_over_limit(timeline, model);
    // Static bytes alone name no op; what is named is above the limit and no higher than the peak.
    if (over) REQUIRE(over->bytes == peak);
  }
}

}  // namespace pipeloom::memory_test
