// How long the ops of a timeline took.

#include "sim/cost/measured/measured_ops.hpp"

#include <pipeloom/schedule.hpp>
#include "support/catch.hpp"

namespace pipeloom::cost::measured_ops_test {

TEST_CASE("median and spread of a sample") {
  CHECK(sample_of({}).count == 0);
  const DurationSample five = sample_of({50, 10, 20, 40, 30});
  CHECK(five.count == 5);
  CHECK(five.median == 30);
  CHECK(five.spread == 20);                         // 40 - 20
  CHECK(sample_of({40, 20, 10, 30}).median == 25);  // half-way from 20 to 30
}

TEST_CASE("a backward that never ran alone takes its I and W, or else is known by shares only") {
  // Rank 0: 0F0 alone takes 4, then (0F1;0B0) takes 16, and 0I1 and 0W1 take 5 and 6. Rank 1: its only B ran in a group of 18.
  Timeline timeline;
  timeline.schedule = std::make_shared<const Schedule>(
      parse_schedule("0F0 (0F1;0B0)OVERLAP_F_B 0I1 0W1 | 1F0 (1F1;1B0)OVERLAP_F_B 1B1"));
  timeline.start = {0, 20, 20, 40, 45, 4, 8, 8, 30};
  timeline.end = {4, 36, 36, 45, 51, 8, 26, 26, 37};
  using Source = OpEstimate::Source;
  MeasuredOps costs = measured_ops(timeline);
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
  // Rank 0: 0F0 alone takes 4, 0F1 with 0B0 takes 10, 0B1 alone takes 6. Rank 1: 1F0 takes 3, 1F1 with 1B0 8, 1B1 5.
  Timeline timeline;
  timeline.schedule = std::make_shared<const Schedule>(
      parse_schedule("0F0 (0F1;0B0)OVERLAP_F_B 0B1 | 1F0 (1F1;1B0)OVERLAP_F_B 1B1"));
  timeline.start = {0, 10, 10, 20, 0, 10, 10, 18};
  timeline.end = {4, 20, 20, 26, 3, 18, 18, 23};
  const MeasuredOps costs = measured_ops(timeline);
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
}

TEST_CASE("a pass of a sliced sequence takes what its slices take") {
  // Slice 0 takes 3 and 5, slice 1 takes 7 and 9; backwards 4 each.
  Timeline timeline;
  timeline.schedule =
      std::make_shared<const Schedule>(parse_schedule("0F0.0 0F0.1 0B0.1 0B0.0 0F1.0 0F1.1 0B1.1 0B1.0"));
  timeline.start = {0, 3, 10, 14, 18, 23, 32, 36};
  timeline.end = {3, 10, 14, 18, 23, 32, 36, 40};
  const MeasuredOps measured = measured_ops(timeline);
  CHECK(measured.op[index_of(OpKind::Forward)][0].count == 4);
  CHECK(measured.op[index_of(OpKind::Forward)][0].median == 4 + 8);  // half-way from 3 to 5, and from 7 to 9
  CHECK(measured.op[index_of(OpKind::Backward)][0].median == 4 + 4);
}

}  // namespace pipeloom::cost::measured_ops_test
