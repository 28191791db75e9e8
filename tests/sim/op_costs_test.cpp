// What costs.table, costs.exceptions, costs.transfer.links and rank_time mean, by hand.

#include <memory>
#include <utility>
#include <vector>

#include "sim/cost/bind.hpp"
#include "sim/cost/resolve.hpp"
#include "sim/engine/simulator.hpp"
#include "support/catch.hpp"
#include "support/scenes.hpp"

namespace pipeloom::cost::op_costs_test {
namespace {

using Numbers = std::vector<Ticks>;
constexpr OpKind kF = OpKind::Forward;
constexpr OpKind kB = OpKind::Backward;
constexpr OpKind kI = OpKind::BackwardInput;
constexpr OpKind kW = OpKind::BackwardWeight;

CostRow time_of(OpKind kind, Ticks time) {
  CostRow row;
  row.kind = kind;
  row.number = time;
  return row;
}
CostRow factor_of(OpKind kind, Scale factor) {
  CostRow row = time_of(kind, factor);
  row.is_factor = true;
  return row;
}

/// F 10, B 20, I 8, W 12 on every stage, and these rows.
CostSpec spec_of(std::vector<CostRow> rows) {
  CostSpec spec;
  const std::pair<OpKind, Ticks> durations[] = {{kF, 10}, {kB, 20}, {kI, 8}, {kW, 12}};
  for (const auto& [kind, ticks] : durations)
    spec.duration[index_of(kind)] = StageNumbers::all(ticks, "costs");
  spec.exceptions = std::make_shared<std::vector<CostRow>>(std::move(rows));
  return spec;
}

Numbers bound(const CostSpec& spec, const Schedule& schedule, std::vector<std::int64_t> slice_end = {}) {
  ResolvedCosts resolved = resolve(spec, schedule);
  resolved.costs.slice_end = std::move(slice_end);
  bind_costs(resolved.costs, resolved.ops, schedule);
  Numbers out;
  for (std::size_t i = 0; i < schedule.num_ops(); ++i) out.push_back(resolved.costs.op_duration(schedule, i));
  return out;
}

const char* const kTwoRanks = "0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1";

}  // namespace

TEST_CASE("rows without a microbatch change the tables, and nothing is bound") {
  CostRow row = factor_of(kF, kUnitScale + kUnitScale / 2);
  row.stage = 1;
  const auto schedule = test::scene(kTwoRanks);
  const ResolvedCosts resolved = resolve(spec_of({row}), *schedule);
  CHECK(resolved.ops.empty());
  CHECK(resolved.costs.duration[index_of(kF)] == Numbers{10, 15});
  CHECK(resolved.stage_duration[index_of(kF)] ==
        Numbers{10, 10});  // the effective configuration has the row, too
}

TEST_CASE("of rows the last that names an op counts, of a table and exceptions the exceptions") {
  CostRow one = factor_of(kF, 2 * kUnitScale);
  one.microbatch = 1;
  CostSpec spec = spec_of({time_of(kF, 30), one});
  // 0F0 30, 0F1 twice 10 and not twice 30, the same on rank 1.
  CHECK(bound(spec, *test::scene(kTwoRanks)) == Numbers{30, 20, 20, 20, 30, 20, 20, 20});
  spec.table = std::exchange(spec.exceptions, std::make_shared<std::vector<CostRow>>());
  CHECK(bound(spec, *test::scene(kTwoRanks)) == Numbers{30, 20, 20, 20, 30, 20, 20, 20});
  CostRow last = time_of(kF, 7);
  last.rank = 1;
  spec.exceptions = std::make_shared<std::vector<CostRow>>(std::vector<CostRow>{last});
  CHECK(bound(spec, *test::scene(kTwoRanks)) == Numbers{30, 20, 20, 20, 7, 20, 7, 20});
}

TEST_CASE("what is said of B holds for its halves, what is said of a half for B") {
  const auto split = test::scene("0F0 0F1 0I0 0W0 0B1");
  CostRow whole = time_of(kB, 30);
  // 30 in the proportion 8 : 12.
  CHECK(bound(spec_of({whole}), *split) == Numbers{10, 10, 12, 18, 30});
  CHECK(bound(spec_of({factor_of(kB, 2 * kUnitScale)}), *split) == Numbers{10, 10, 16, 24, 40});
  // W is said itself; I is still a part of B.
  CHECK(bound(spec_of({whole, time_of(kW, 1)}), *split) == Numbers{10, 10, 12, 1, 30});
  // W takes 5 more, so does a B of which nothing is said.
  CHECK(bound(spec_of({time_of(kW, 17)}), *split) == Numbers{10, 10, 8, 17, 25});
}

TEST_CASE("scales, then the entry, come on top of rows") {
  CostRow row = time_of(kF, 30);
  row.microbatch = 1;
  CostSpec spec = spec_of({row});
  spec.rank_scale.array = {kUnitScale, 2 * kUnitScale};
  spec.microbatch_scale.array = {kUnitScale, 3 * kUnitScale};
  spec.entry = 1;
  // 0F1 30 * 3 + 1; 1F0 10 * 2 + 1, 1F1 30 * 2 * 3 + 1.
  CHECK(bound(spec, *test::scene(kTwoRanks)) == Numbers{11, 91, 21, 61, 21, 41, 181, 121});
}

TEST_CASE("a pass's time is shared by its slices, a slice's is its own") {
  ScheduleBuilder builder(Placement::linear(1), 1, {}, 2);
  builder.begin_rank(Rank(0));
  for (const int j : {0, 1}) builder.add(forward(Stage(0), Microbatch(0)).with_slice(j));
  for (const int j : {1, 0}) builder.add(backward(Stage(0), Microbatch(0)).with_slice(j));
  const auto sliced = std::make_shared<const Schedule>(std::move(builder).build());
  CostRow pass = time_of(kF, 30);
  CostRow slice = time_of(kF, 30);
  slice.slice = 1;
  // Shares of 1 and 2 of 3.
  CHECK(bound(spec_of({pass}), *sliced, {0, 1, 3})[0] == 10);
  CHECK(bound(spec_of({pass}), *sliced, {0, 1, 3})[1] == 20);
  CHECK(bound(spec_of({slice}), *sliced, {0, 1, 3})[1] == 30);
}

TEST_CASE("times of rows are divided as costs.per says") {
  const auto schedule = test::scene("0F0 1F0 1B0 0B0");
  CostSpec spec = spec_of({time_of(kF, 30)});
  spec.per = Per::Rank;
  const ResolvedCosts resolved = resolve(spec, *schedule);
  CHECK(resolved.costs.duration[index_of(kF)] == Numbers{15, 15});
  CHECK(resolved.exceptions->front().number == 15);
}

TEST_CASE("a row with the time of overlapped pairs holds for those of its forward alone") {
  const auto schedule = test::scene("0F0 (0F1;0B0)OVERLAP_F_B (0F2;0B1)OVERLAP_F_B 0B2");
  CostRow row = time_of(kF, 45);
  row.of_group = true;
  row.microbatch = 2;
  CostSpec spec = spec_of({row});
  spec.overlap =
      OverlapSpec{.rule = OverlapRule::Explicit, .duration = StageNumbers::all(25, "costs.overlapped")};
  spec.entry = 1;
  const auto entries = [&] {
    ResolvedCosts resolved = resolve(spec, *schedule);
    bind_costs(resolved.costs, resolved.ops, *schedule);
    Numbers out;
    for_each_entry(*schedule, 0, schedule->num_ops(), [&](std::size_t first, std::size_t last) {
      out.push_back(resolved.costs.entry_duration(*schedule, first, last));
    });
    return out;
  };
  // F 10 and B 20 alone, the other pair 25, this one 45; an entry takes 1 besides.
  CHECK(entries() == Numbers{11, 26, 46, 21});
  // All of its stage's: a row without a microbatch is no number of a table either.
  row.microbatch.reset();
  spec.exceptions = std::make_shared<std::vector<CostRow>>(std::vector<CostRow>{row});
  CHECK(entries() == Numbers{11, 46, 46, 21});
  spec.rank_scale.array = {2 * kUnitScale};
  CHECK(entries() == Numbers{21, 91, 91, 41});
  CHECK(bound(spec, *test::scene("0F0 0F1 0F2 0B0 0B1 0B2")) == Numbers{21, 21, 21, 41, 41, 41});
}

TEST_CASE("a row with the time of overlapped pairs needs times of the others") {
  CostRow row = time_of(kF, 45);
  row.of_group = true;
  row.where = {"costs.json", 3, 9};
  CHECK_THROWS_WITH(
      resolve(spec_of({row}), *test::scene("0F0 (0F1;0B0)OVERLAP_F_B 0B1")),
      "\"overlapped\" is the time of single overlapped pairs, but costs.overlapped gives no times "
      "of the others; give it a number, an array or \"pairs\", or leave the row out");
}

TEST_CASE("a row that names what there is not is refused where it stands") {
  const auto schedule = test::scene(kTwoRanks);
  CostRow row = time_of(kF, 1);
  row.where = {"costs.csv", 7, 0};
  row.stage = 2;
  CHECK_THROWS_WITH(resolve(spec_of({row}), *schedule),
                    "the cost names stage 2, but the schedule's are 0 to 1; change it, or leave it out to "
                    "name all");
}

TEST_CASE("links: all, then the matrix, then the link itself, one way or both") {
  const auto schedule = test::scene(kTwoRanks);
  CostSpec spec = spec_of({});
  spec.transfer.link.latency = 1;
  const auto delays = [&] {
    const Costs costs = resolve(spec, *schedule).costs;
    return std::pair(costs.forward_delay[1], costs.backward_delay[0]);
  };
  CHECK(delays() == std::pair<Ticks, Ticks>(1, 1));
  spec.transfer.matrix.latency = {{0, 2}, {3, 0}};
  CHECK(delays() == std::pair<Ticks, Ticks>(2, 3));
  LinkException link{.from = 1, .to = 0, .link = {.latency = 9}};
  spec.transfer.links = {link};
  CHECK(delays() == std::pair<Ticks, Ticks>(9, 9));
  spec.transfer.links[0].oneway = true;
  CHECK(delays() == std::pair<Ticks, Ticks>(2, 9));
  spec.transfer.links[0].to = 2;
  CHECK_THROWS_AS(resolve(spec, *schedule), InputError);
}

TEST_CASE("a message takes rank time of both lanes") {
  // F 10, B 20, latency 5, rank time 2. 0F0 0-10, its lane until 12, there at 17, received until 19: 1F0 19-29. 1B0 29-49, lane until 51,
  // there at 56: 0B0 58-78. Nothing is sent between 1F0 and 1B0.
  const auto schedule = test::scene("0F0 0B0 | 1F0 1B0");
  Costs costs = uniform_costs(schedule->placement(), {.forward = 10, .backward = 20, .delay = 5});
  costs.rank_time = 2;
  CHECK(test::times_of(simulate(schedule, costs)) == "0F0 0-10, 0B0 58-78, 1F0 19-29, 1B0 29-49");
  // The second forward waits for the lane.
  const auto twice = test::scene(kTwoRanks);
  CHECK(simulate(twice, costs).start_of(1) == 12);
}

TEST_CASE("a pair's time goes by both its stages") {
  const auto schedule = test::scene("0F0 (0B0;0F1)OVERLAP 0B1");
  Costs costs = uniform_costs(schedule->placement(), {.forward = 10, .backward = 20});
  costs.overlap = {.rule = OverlapRule::Explicit, .pairs = {27}};
  costs.entry = 1;
  CHECK(costs.entry_duration(*schedule, 1, 3) == 28);
}

}  // namespace pipeloom::cost::op_costs_test
