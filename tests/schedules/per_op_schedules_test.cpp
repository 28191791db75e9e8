// Durations of single ops (Costs::per_op) on every registered schedule.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "schedules/flavours.hpp"
#include "schedules/generator.hpp"
#include "schedules/offload.hpp"
#include "schedules/recompute.hpp"
#include "sim/engine/fixed_order.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/messages/program_engine.hpp"
#include "support/catch.hpp"
#include "support/eager_program.hpp"
#include "support/event_engine.hpp"
#include "support/random_problem.hpp"

namespace pipeloom::schedules::per_op_schedules_test {
namespace {

Costs unequal_costs(const Schedule& schedule) {
  return uniform_costs(
      schedule.placement(),
      {.forward = 30, .backward = 70, .backward_input = 40, .backward_weight = 30, .copy = 20, .delay = 9});
}

/// Calls fn(schedule) for every legal point of a grid, as it is and with everything recomputed or offloaded.
template <class Fn>
void for_each_schedule(Fn&& fn) {
  for (const Generator& generator : all())
    for (const int p : {1, 2, 4})
      for (const int m : {1, 6, 8})
        for (int v = generator.requirements.min_chunks; v <= std::min(generator.requirements.max_chunks, 2);
             ++v)
          for (const Params& params :
               flavours(generator, {.ranks = p, .microbatches = m, .chunks = v}, {0, 3})) {
            if (!refusal(generator, params).empty() || is_slow(generator, params)) continue;
            INFO(describe(generator, params));
            const auto schedule = std::make_shared<const Schedule>(make(generator, params));
            fn(schedule);
            if (schedule->slices() > 1 || params.updates() > 1) continue;
            fn(std::make_shared<const Schedule>(with_recompute(*schedule)));
            fn(std::make_shared<const Schedule>(with_offload(*schedule, {})));
          }
}

}  // namespace

TEST_CASE("every schedule: durations op by op that its tables have too change nothing") {
  for_each_schedule([](const std::shared_ptr<const Schedule>& schedule) {
    const Costs costs = unequal_costs(*schedule);
    Costs bound = costs;
    for (const Op op : schedule->ops())
      bound.per_op.push_back(costs.table_duration(op, schedule->slot_of(op)));
    const Timeline expected = simulate(schedule, costs);
    const Timeline found = simulate(schedule, bound);
    CHECK(found.start == expected.start);
    CHECK(found.end == expected.end);
  });
}

TEST_CASE("every schedule: random durations of its ops give every engine the same times") {
  std::uint64_t seed = 0;
  std::vector<Ticks> scratch;
  for_each_schedule([&](const std::shared_ptr<const Schedule>& schedule) {
    test::Random random(++seed);
    Costs costs = unequal_costs(*schedule);
    for (std::size_t i = 0; i < schedule->num_ops(); ++i) costs.per_op.push_back(random.between(1, 90));
    const Timeline cursors = simulate(schedule, costs);
    LatencyNetwork network(costs);
    const auto events = simulate_events(schedule, costs, network);
    CHECK(std::get<Timeline>(events).end == cursors.end);
    if (schedule->shares_output()) return;
    const auto program = run_program(test::eager_program(schedule), costs, {});
    CHECK(std::get<ProgramRun>(program).timeline.end == cursors.end);
    if (schedule->is_extended()) return;
    CHECK(FixedOrder(*schedule, true).makespan(costs, scratch) == span_of(cursors).end);
  });
}

}  // namespace pipeloom::schedules::per_op_schedules_test
