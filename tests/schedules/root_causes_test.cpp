// What idle time goes back to, of every registered schedule.

#include "sim/roots/root_causes.hpp"

#include <algorithm>
#include <memory>

#include "schedules/flavours.hpp"
#include "schedules/generator.hpp"
#include "schedules/offload.hpp"
#include "sim/analysis/idle_causes.hpp"
#include "sim/engine/simulator.hpp"
#include "support/catch.hpp"

namespace pipeloom::schedules::root_causes_test {
namespace {

/// Stages differ, and hops take time.
Costs unequal_costs(const Schedule& schedule) {
  Costs costs = uniform_costs(
      schedule.placement(),
      {.forward = 30, .backward = 70, .backward_input = 40, .backward_weight = 30, .copy = 20, .delay = 9});
  for (std::vector<Ticks>& of_slot : costs.duration)
    if (!of_slot.empty()) of_slot.back() *= 2;
  return costs;
}

void check_sums(const std::shared_ptr<const Schedule>& schedule) {
  const Costs costs = unequal_costs(*schedule);
  const Timeline timeline = simulate(schedule, costs);
  const auto idle = all_idle_spans(timeline, costs);
  TickSum expected;
  for (const auto& of_rank : idle)
    for (const IdleSpan& span : of_rank) expected += span.end - span.start;
  TickSum sum;
  for (const RootCause& root : root_causes(RootFinder(timeline, costs), idle)) sum += root.amount;
  CHECK(sum == expected);
}

}  // namespace

TEST_CASE("every schedule: roots sum exactly to its idle time") {
  for (const Generator& generator : all())
    for (const int p : {2, 4})
      for (int v = generator.requirements.min_chunks; v <= std::min(generator.requirements.max_chunks, 2);
           ++v)
        for (const Params& params :
             flavours(generator, {.ranks = p, .microbatches = 8, .chunks = v}, {0, 3})) {
          if (!refusal(generator, params).empty() || is_slow(generator, params)) continue;
          INFO(describe(generator, params));
          const auto schedule = std::make_shared<const Schedule>(make(generator, params));
          check_sums(schedule);
          if (schedule->slices() == 1 && params.updates() == 1)
            check_sums(std::make_shared<const Schedule>(with_offload(*schedule, {})));
        }
}

}  // namespace pipeloom::schedules::root_causes_test
