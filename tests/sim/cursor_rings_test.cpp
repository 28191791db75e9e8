// Rings of the cursor engine: a rank that waits for space changes no time, a standstill for want of space is no hang, and a hang is told in
// the same words however long the rings are.

#include <cstddef>
#include <string>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "sim/analysis/validate.hpp"
#include "sim/engine/cursor_engine.hpp"
#include "sim/engine/wait_for.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"
#include "support/reference_times.hpp"
#include "support/scenes.hpp"

namespace pipeloom::cursor_rings_test {
namespace {

using test::Random;
using test::random_problem;
using Rings = CursorEngine::Rings;

/// Nobody may grow a ring before it waited for space.
constexpr Rings kShort[] = {{1, 0}, {2, 0}, {4, 0}};

constexpr test::ProblemSize kManyTensors{.most_ranks = 5, .most_chunks = 2, .most_microbatches = 24};

/// All that a run leaves behind, as text, so that a difference shows where it is.
std::string answer(CursorEngine& engine, const Schedule& schedule, const Costs& costs,
                   const MemoryModel& memory, const std::vector<Ticks>& ready = {}) {
  std::vector<Ticks> start(schedule.num_ops(), -1);
  std::vector<Ticks> end(schedule.num_ops(), -1);
  const std::size_t done = engine.run(schedule, costs, memory, ready, {start.data(), end.data()});
  std::string text = std::to_string(done) + " ops";
  for (std::size_t i = 0; i < start.size(); ++i)
    text += (i % 8 == 0 ? "\n" : ", ") + std::to_string(start[i]) + "-" + std::to_string(end[i]);
  for (const CursorEngine::Cursor& rank : engine.cursors())
    text += "\nfirst " + std::to_string(rank.first_start) + " clock " + std::to_string(rank.clock) +
            " busy " + std::to_string(rank.busy) + " live " + std::to_string(rank.peak_live) + " held " +
            std::to_string(rank.peak_held);
  return text;
}

/// Who waits for what, and the sentence that people read.
std::string hang(const CursorEngine& engine, const Schedule& schedule) {
  std::string text;
  for (const Wait& wait : engine.waits(schedule))
    text += std::to_string(wait.rank.value()) + " at " + std::to_string(wait.op) + " for " +
            std::to_string(wait.tensor) + "; ";
  return text + describe(explain_waits(schedule, engine.waits(schedule), 0), schedule);
}

/// m forwards, then m backwards, on one rank: all m activations are under way at once.
Schedule all_forwards_first(int microbatches) {
  ScheduleBuilder out(Placement::linear(1), microbatches);
  out.begin_rank(Rank(0));
  for (int k = 0; k < microbatches; ++k) out.add(forward(Stage(0), Microbatch(k)));
  for (int k = 0; k < microbatches; ++k) out.add(backward(Stage(0), Microbatch(k)));
  return std::move(out).build();
}

std::size_t run(CursorEngine& engine, const Schedule& schedule) {
  return engine.run(schedule, default_costs(schedule.placement()), default_memory(schedule.placement()), {},
                    {});
}

}  // namespace

TEST_CASE("ranks that wait for space run at the same times") {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const auto problem = random_problem(800'000 + seed, kManyTensors);
    Random random(seed);
    // Every other problem with copies, recomputation or slices; those without keep the loop for plain schedules in play.
    const Schedule schedule =
        random.chance(50) ? test::random_extras(random, *problem.schedule) : *problem.schedule;
    Costs costs = problem.costs;
    if (random.chance(50)) costs.microbatch_scale.clear();
    const MemoryModel memory = test::random_memory(random, schedule.placement());
    std::vector<Ticks> ready;
    for (int r = 0; r < schedule.ranks(); ++r) ready.push_back(random.between(0, 400));
    INFO("seed " << seed);
    CursorEngine roomy(Rings{32, std::size_t{1} << 20});
    const std::string expected = answer(roomy, schedule, costs, memory, ready);
    for (const Rings& rings : kShort) {
      INFO("rings of " << rings.first);
      CursorEngine engine(rings);
      REQUIRE(answer(engine, schedule, costs, memory, ready) == expected);
      REQUIRE(answer(engine, schedule, costs, memory, ready) ==
              expected);  // with the cells as the first run left them
    }
  }
}

TEST_CASE("what an engine with short rings ran before does not matter") {
  CursorEngine used[] = {CursorEngine(kShort[0]), CursorEngine(kShort[1]), CursorEngine(kShort[2])};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto problem = random_problem(810'000 + seed, kManyTensors);
    Random random(seed);
    // Some hang, which leaves cells taken.
    const Schedule schedule =
        random.chance(30) ? test::with_swapped_ops(random, *problem.schedule, 2) : *problem.schedule;
    if (!validate_structure(schedule).empty()) continue;
    const MemoryModel memory = default_memory(schedule.placement());
    INFO("seed " << seed);
    CursorEngine fresh;
    const std::string expected = answer(fresh, schedule, problem.costs, memory);
    for (CursorEngine& engine : used) REQUIRE(answer(engine, schedule, problem.costs, memory) == expected);
  }
}

TEST_CASE("a hang is told in the same words, and only a hang is one") {
  int hanging = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const auto problem =
        random_problem(820'000 + seed, {.most_chunks = 2, .most_microbatches = 10, .group_percent = 15});
    Random random(seed);
    const Schedule schedule = test::with_swapped_ops(random, *problem.schedule, 1 + random.below(2));
    if (!validate_structure(schedule).empty()) continue;
    const MemoryModel memory = default_memory(schedule.placement());
    INFO("seed " << seed);
    CursorEngine roomy(Rings{32, std::size_t{1} << 20});
    const std::string expected = answer(roomy, schedule, problem.costs, memory);
    const bool hangs = !test::reference_times(schedule, problem.costs).has_value();
    REQUIRE(roomy.waits(schedule).empty() == !hangs);
    if (hangs) ++hanging;
    for (const Rings& rings : kShort) {
      INFO("rings of " << rings.first);
      CursorEngine engine(rings);
      REQUIRE(answer(engine, schedule, problem.costs, memory) == expected);
      REQUIRE(engine.waits(schedule).empty() == !hangs);
      if (hangs) REQUIRE(hang(engine, schedule) == hang(roomy, schedule));
    }
  }
  CHECK(hanging > 100);
  CHECK(hanging < 1000);
}

TEST_CASE("1F1B needs no rings as long as the pipeline") {
  // Rank 0 runs 7 forwards before its first backward. Each rank behind it takes one, so that they need not lie in one ring.
  const auto schedule = test::one_f_one_b(8, 64);
  CursorEngine engine(Rings{2, 0});
  CHECK(run(engine, *schedule) == schedule->num_ops());
  CHECK(engine.ring() == 2);
}

TEST_CASE("rings grow to what the order itself keeps under way, and no further") {
  for (const Rings& rings : kShort) {
    CursorEngine engine(rings);
    const Schedule schedule = all_forwards_first(32);
    CHECK(run(engine, schedule) == schedule.num_ops());
    CHECK(engine.ring() == 32);
  }
}

TEST_CASE("long rings of a short pipeline are not kept for a long one") {
  CursorEngine engine;
  run(engine, all_forwards_first(1024));
  CHECK(engine.ring() == 1024);
  // 512 stages have 1,026 rows: rings of 1,024 cells would fill 16.8 MB.
  const auto schedule = test::one_f_one_b(512, 64);
  CHECK(run(engine, *schedule) == schedule->num_ops());
  CHECK(engine.ring() == 16);
}

}  // namespace pipeloom::cursor_rings_test
