// Recomputation, copies and slices: derived by hand on small scenes, then against the other engines on random ones.

#include <memory>
#include <utility>
#include <variant>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>
#include "sim/analysis/metrics.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/memory.hpp"
#include "support/catch.hpp"
#include "support/dag_paths.hpp"
#include "support/event_engine.hpp"
#include "support/random_problem.hpp"
#include "support/reference_times.hpp"
#include "support/scenes.hpp"

namespace pipeloom::extras_test {
namespace {

using test::scene;
using test::times_in;

std::vector<std::string> codes_of(const std::string& text) {
  std::vector<std::string> codes;
  for (const Diagnostic& found : validate(parse_schedule(text))) codes.push_back(found.code);
  return codes;
}
using Codes = std::vector<std::string>;

/// Rank 0's peak of activation bytes, 10 per pass, 2 of them stashed where recomputed.
Bytes peak_of(const std::string& text, const UniformCosts& costs) {
  const Timeline timeline = times_in(scene(text), costs);
  MemoryModel model = default_memory(timeline.schedule->placement());
  model.activation.assign(model.activation.size(), 10);
  model.stash.assign(model.stash.size(), 2);
  return measure_memory(timeline, model).front().peak_activation_bytes;
}

}  // namespace

TEST_CASE("a recomputed forward runs again while its gradient is under way") {
  // Rank 0: F 0-1, then R needs only its turn: 1-2. Rank 1: F 1-2, B 2-4. So B of rank 0 starts at 4, as without R.
  const Timeline timeline = times_in(scene("0F0 0R0 0B0 | 1F0 1B0"), {.forward = 1, .backward = 2});
  CHECK(timeline.start_of(1) == 1);
  CHECK(timeline.end_of(1) == 2);
  CHECK(timeline.start_of(2) == 4);
  CHECK(span_of(timeline).end == 6);
}

TEST_CASE("a recomputed forward holds its stash until R takes the rest") {
  // Three forwards stash 2 each, then R takes 8 more: 2 + 2 + 10. Without recomputation 30.
  CHECK(peak_of("0F0 0F1 0F2 0R0 0B0 0R1 0B1 0R2 0B2", {.forward = 1, .backward = 2}) == 14);
  CHECK(peak_of("0F0 0F1 0F2 0B0 0B1 0B2", {.forward = 1, .backward = 2}) == 30);
}

TEST_CASE("copies run beside the queue, one after another, and a backward waits for its reload") {
  // F0 0-1, O0 issued at 1: 1-6. F1 1-2, O1 issued at 2, but the stream is busy: 6-11. L1 issued at 2: 11-16.
  // B1 waits for L1: 16-18. L0 issued at 18 ... stands behind B1: 18-23, B0 23-25.
  const Timeline timeline = times_in(scene("0F0 0O0 0F1 0O1 0L1 0B1 0L0 0B0"), {.copy = 5});
  CHECK(timeline.start == std::vector<Ticks>{0, 1, 1, 6, 11, 16, 18, 23});
  CHECK(timeline.end == std::vector<Ticks>{1, 6, 2, 11, 16, 18, 23, 25});
}

TEST_CASE("offloading frees at the end of O and allocates at the start of L") {
  // F0 0-1, O0 1-2, F1 1-2 (both held: 20), F2 2-3: O0 has ended, so F1 and F2 hold 20.
  // B2 3-5, L0 issued at 3: 3-4 makes 30 with F1 and F2 until B2 ends.
  CHECK(peak_of("0F0 0O0 0F1 0F2 0L0 0B2 0B1 0B0", {.copy = 1}) == 30);
  // Issued behind B2 it takes its bytes at 5, when those of F2 are free: 20.
  CHECK(peak_of("0F0 0O0 0F1 0F2 0B2 0L0 0B1 0B0", {.copy = 1}) == 20);
}

TEST_CASE("what is offloaded is on the host from the start of O to the end of L") {
  // O0 and O1 before the first L: two passes of 10 bytes.
  const Timeline timeline = times_in(scene("0F0 0O0 0F1 0O1 0F2 0L1 0B2 0B1 0L0 0B0"), {.copy = 1});
  MemoryModel model = default_memory(timeline.schedule->placement());
  model.activation = {10};
  CHECK(measure_memory(timeline, model).front().peak_host_bytes == 20);
}

TEST_CASE("time that a rank waits for a reload is memory's") {
  const Timeline timeline = times_in(scene("0F0 0O0 0L0 0B0"), {.copy = 5});
  // F 0-1, O 1-6, L 6-11, B 11-13: idle 10, all of it waiting for the copies.
  const Costs costs = uniform_costs(timeline.schedule->placement(), {.copy = 5});
  const Metrics metrics = measure(timeline, costs, default_memory(timeline.schedule->placement()), Steps{});
  CHECK(metrics.makespan == 13);
  CHECK(metrics.ranks.front().busy == 3);
  CHECK(metrics.ranks.front().idle_causes.memory == 10);
}

TEST_CASE("slices go forward in order and backward in the opposite one") {
  CHECK(codes_of("0F0.0 0F0.1 0B0.1 0B0.0").empty());
  CHECK(codes_of("0F0.1 0F0.0 0B0.1 0B0.0") == Codes{"slice-order"});
  CHECK(codes_of("0F0.0 0F0.1 0B0.0 0B0.1") == Codes{"slice-order"});
  CHECK(codes_of("0F0.0 0F0.1 0B0.1") == Codes{"missing-backward"});
  CHECK_THROWS_AS(parse_schedule("0F0.0 0F1 0B1 0B0.0"), InputError);
}

TEST_CASE("slices share a pass's duration and bytes exactly") {
  const auto schedule =
      std::make_shared<const Schedule>(parse_schedule("0F0.0 0F0.1 0F0.2 0B0.2 0B0.1 0B0.0"));
  Costs costs = uniform_costs(schedule->placement(), {.forward = 10, .backward = 20});
  costs.slice_end = {0, 1, 2, 3};
  const Timeline timeline = simulate(schedule, costs);
  // Cuts of 10 at 3.33 and 6.67: 0, 3, 7, 10; of 20 at 6.67 and 13.33: 0, 7, 13, 20.
  CHECK(timeline.end == std::vector<Ticks>{3, 7, 10, 17, 23, 30});
  MemoryModel model = default_memory(schedule->placement());
  model.activation = {10};
  model.slice_end = costs.slice_end;
  CHECK(measure_memory(timeline, model).front().peak_activation_bytes == 10);
  CHECK(measure_memory(timeline, model).front().peak_live == 3);
}

TEST_CASE("a slice pays its part of a message, and holds its part of logits and of what is received") {
  const auto schedule = std::make_shared<const Schedule>(parse_schedule(
      "0F0.0 0F0.1 0F0.2 0F0.3 0B0.3 0B0.2 0B0.1 0B0.0 | 1F0.0 1F0.1 1F0.2 1F0.3 1B0.3 1B0.2 1B0.1 1B0.0"));
  // A latency of 1 and 4 for the bytes: 2 for a slice of four, not 5.
  Costs costs = uniform_costs(schedule->placement(), {.forward = 4, .backward = 8, .delay = 5});
  costs.slice_end = {0, 1, 2, 3, 4};
  costs.forward_sending = {0, 4};
  costs.backward_sending = {4, 0};
  const Timeline timeline = simulate(schedule, costs);
  // Rank 0: F end at 1, 2, 3, 4. Rank 1: there at 3, so F 3-7, B 7-15, each 2. Rank 0: the first gradient is there at 9 + 2, so B 11-19.
  CHECK(timeline.end == std::vector<Ticks>{1, 2, 3, 4, 13, 15, 17, 19, 4, 5, 6, 7, 9, 11, 13, 15});
  MemoryModel model = default_memory(schedule->placement());
  model.activation = {0, 0};
  model.logits = {0, 400};
  model.receive = {0, 80};
  model.slice_end = costs.slice_end;
  // At 6 rank 1 begins its last F: 4 x 100 of logits, and 20 for the slice that it reads.
  CHECK(measure_memory(timeline, model)[1].peak_bytes == 420);
  CHECK(measure_memory(timeline, model)[0].peak_bytes == 0);
}

TEST_CASE("extra ops must stand where they can do their work") {
  CHECK(codes_of("0F0 0O0 0L0 0R0 0B0").empty());
  CHECK(codes_of("0R0 0F0 0B0") == Codes{"recompute-order"});
  CHECK(codes_of("0F0 0B0 0R0") == Codes{"recompute-order"});
  CHECK(codes_of("0F0 0L0 0O0 0B0") == Codes{"copy-order"});
  CHECK(codes_of("0F0 0O0 0B0") == Codes{"copy-order"});
  CHECK(codes_of("0F0 0O0 0R0 0L0 0B0") == Codes{"copy-order"});
  CHECK(codes_of("0F0 (0F1;0O0)OVERLAP 0L0 0B0 0B1") == Codes{"dependent-group"});
}

TEST_CASE("cursors, events, recursion and graph agree on random schedules with everything extra") {
  Simulator simulator;
  for (std::uint64_t seed = 0; seed < 4'000; ++seed) {
    INFO("seed " << seed);
    test::Random random(seed);
    const auto plain = test::random_problem(2'000'000 + seed);
    const auto schedule = std::make_shared<const Schedule>(test::random_extras(random, *plain.schedule));
    REQUIRE(validate(*schedule).empty());
    Costs costs = test::random_costs(random, *schedule);
    if (schedule->slices() > 1 && random.chance(70)) {
      costs.slice_end = {0};
      for (int j = 0; j < schedule->slices(); ++j)
        costs.slice_end.push_back(costs.slice_end.back() + random.between(1, 5));
      for (const auto& [delays, sendings] : {std::pair(&costs.forward_delay, &costs.forward_sending),
                                             std::pair(&costs.backward_delay, &costs.backward_sending)}) {
        sendings->clear();
        for (const Ticks delay : *delays) sendings->push_back(random.between(0, delay));
      }
    }
    const auto expected = test::reference_times(*schedule, costs);
    REQUIRE(expected.has_value());
    const Timeline timeline = simulate(schedule, costs);
    REQUIRE(timeline.start == expected->start);
    REQUIRE(timeline.end == expected->end);
    LatencyNetwork network(costs);
    const auto events = simulate_events(schedule, costs, network);
    REQUIRE(std::get<Timeline>(events).end == expected->end);
    const Dag dag(*schedule);
    const auto starts = test::longest_paths(dag, test::lags_of(dag, costs));
    for (Vertex v = 0; v < dag.source(); ++v) REQUIRE(starts[v] == expected->start[dag.first_op(v)]);

    MemoryModel model = test::random_memory(random, schedule->placement());
    for (std::size_t slot = 0; slot < model.stash.size(); ++slot)
      model.stash[slot] = random.between(0, model.activation[slot]);
    const auto totals = std::get<Totals>(simulator.evaluate(*schedule, costs, model));
    const Metrics metrics = measure(timeline, costs, model, Steps{});
    REQUIRE(metrics.lower_bound.value <= metrics.makespan);
    for (std::size_t r = 0; r < totals.busy.size(); ++r) {
      REQUIRE(totals.peak_activation_bytes[r] == metrics.ranks[r].memory.peak_activation_bytes);
      REQUIRE(totals.peak_live[r] == metrics.ranks[r].memory.peak_live);
      REQUIRE(totals.busy[r] == metrics.ranks[r].busy);
      Ticks idle = 0;
      for (int cause = 0; cause < static_cast<int>(kIdleCauses); ++cause)
        idle += metrics.ranks[r].idle_causes.of(static_cast<IdleCause>(cause));
      REQUIRE(idle == metrics.ranks[r].idle);
    }
  }
}

}  // namespace pipeloom::extras_test
