// From a run to the costs of the next simulation.

#include "executor/measure/measured_costs.hpp"

#include <pipeloom/schedule.hpp>
#include "support/catch.hpp"

namespace pipeloom::executor::measured_costs_test {

using cost::DurationSample;
using cost::OpEstimate;
using cost::sample_of;

TEST_CASE("median and spread of a sample") {
  CHECK(sample_of({}).count == 0);
  const DurationSample five = sample_of({50, 10, 20, 40, 30});
  CHECK(five.count == 5);
  CHECK(five.median == 30);
  CHECK(five.spread == 20);  // 40 - 20
  CHECK(sample_of({4, 2, 1, 3}).median == 2);
}

TEST_CASE("a backward that never ran alone takes its I and W, or else is known by shares only") {
  // Rank 0: 0F0 alone takes 4, then (0F1;0B0) takes 16, and 0I1 and 0W1 take 5 and 6. Rank 1: its only B ran in a group of 18.
  RunResult run;
  run.timeline.schedule = std::make_shared<const Schedule>(
      parse_schedule("0F0 (0F1;0B0)OVERLAP_F_B 0I1 0W1 | 1F0 (1F1;1B0)OVERLAP_F_B 1B1"));
  run.timeline.start = {0, 20, 20, 40, 45, 4, 8, 8, 30};
  run.timeline.end = {4, 36, 36, 45, 51, 8, 26, 26, 37};
  using Source = OpEstimate::Source;
  MeasuredCosts costs = measured_costs(run);
  CHECK(costs.op[index_of(OpKind::Backward)][0].count == 0);
  const OpEstimate sum = estimate_of(costs, OpKind::Backward, 0);
  CHECK(sum.source == Source::Sum);
  CHECK(sum.time == 5 + 6);  // not 16 / 2
  const OpEstimate alone = estimate_of(costs, OpKind::Backward, 1);
  CHECK(alone.source == Source::Alone);
  CHECK(alone.time == 7);
  CHECK(estimate_of(costs, OpKind::BackwardWeight, 1).source == Source::None);
  costs.op[index_of(OpKind::BackwardWeight)][0] = {};
  const OpEstimate share = estimate_of(costs, OpKind::Backward, 0);
  CHECK(share.source == Source::Share);
  CHECK(share.time == 16 / 2);
}

TEST_CASE("durations by kind and stage, of ops that ran alone, and of groups") {
  // Rank 0: 0F0 alone takes 4, 0F1 with 0B0 takes 10, 0B1 alone takes 6. Rank 1 the same ops apart.
  RunResult run;
  run.timeline.schedule = std::make_shared<const Schedule>(
      parse_schedule("0F0 (0F1;0B0)OVERLAP_F_B 0B1 | 1F0 1B0 (1F1;1B1)OVERLAP_F_B"));
  run.timeline.start = {0, 10, 10, 20, 0, 5, 10, 10};
  run.timeline.end = {4, 20, 20, 26, 3, 10, 18, 18};
  run.message_bytes = {4, 4, 4, 4};
  run.messages = {{.sent = 4, .received = 2, .started = 5, .done = 7, .waited = true},
                  {.sent = 1, .received = 2, .started = 2, .done = 2}};
  const MeasuredCosts costs = measured_costs(run);
  const auto& f = costs.op[index_of(OpKind::Forward)];
  const auto& b = costs.op[index_of(OpKind::Backward)];
  CHECK(f[0].median == 4);
  CHECK(f[0].count == 1);
  CHECK(b[0].median == 6);
  CHECK(f[1].median == 3);
  CHECK(b[1].median == 5);
  CHECK(costs.op[index_of(OpKind::BackwardWeight)][0].count == 0);
  CHECK(costs.group[0].median == 10);
  CHECK(costs.group[1].median == 8);
  CHECK(costs.transfers.all.transfer.count == 2);
  REQUIRE(costs.transfers.link);
  CHECK(costs.transfers.link->latency() == 3);  // 7 - 4: the one that was waited for
}

}  // namespace pipeloom::executor::measured_costs_test
