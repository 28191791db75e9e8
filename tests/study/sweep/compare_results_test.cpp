#include "study/answers/compare_results.hpp"

#include "support/catch.hpp"
#include "support/sweep_scenes.hpp"

namespace compare_results_test {

using namespace pipeloom;
using namespace pipeloom::sweep;
using test::table_of;

namespace {

ResultTable before() {
  return table_of({"makespan", "num_ops"}, R"(
    ranks=2 : makespan=10.0 num_ops=8
    ranks=4 : makespan=20.0 num_ops=8
    ranks=6 : makespan=30.0 num_ops=8
    ranks=8 : makespan=40.0 num_ops=8
    ranks=9 : illegal odd
  )");
}

ResultTable after() {
  return table_of({"makespan", "num_ops"}, R"(
    ranks=2 : makespan=10.0 num_ops=8
    ranks=4 : makespan=21.0 num_ops=9
    ranks=6 : makespan=27.0 num_ops=8
    ranks=8 : deadlock waits
  )");
}

}  // namespace

TEST_CASE("two results of a grid are compared point by point") {
  const ResultTable a = before();
  const ResultTable b = after();
  const auto pairs = same_points(a, b, {});
  CHECK(pairs.size() == 4);
  const ResultComparison found = compare_results(a, b, pairs);
  CHECK(found.both == 4);
  CHECK(found.only_before == 1);
  CHECK(found.changed == 3);
  const MetricChanges& makespan = found.metrics[0];
  CHECK(makespan.same == 1);
  CHECK(makespan.improved == 1);
  CHECK(makespan.worsened == 1);
  CHECK(makespan.worst[0].before == 1);
  CHECK(makespan.best[0].before == 2);
  CHECK(makespan.mean_relative == Approx((0.0 + 0.05 - 0.1) / 3));
  CHECK(found.metrics[1].moved == 1);  // no direction is better
  REQUIRE(found.statuses.size() == 1);
  CHECK(found.statuses[0].after == Status::Hang);
  CHECK(lost_points(a, b, pairs).size() == 1);
}

TEST_CASE("a rule is asked of every point") {
  const ResultTable a = before();
  const ResultTable b = after();
  const auto pairs = same_points(a, b, {});
  const auto verdict = [&](const char* rule) {
    return judge(study::parse_compare_rule(rule, {}), a, b, pairs);
  };
  CHECK(verdict("makespan>+4%").broken == 1);
  CHECK(verdict("makespan>+4%").worst->before == 1);
  CHECK(verdict("makespan>+5%").broken == 0);
  CHECK(verdict("makespan<-1").broken == 1);
  CHECK(verdict("makespan>=21").broken == 2);
  CHECK_THROWS_WITH(verdict("peak_bytes>1"), Catch::Matchers::Contains("valid: makespan, num_ops"));
}

TEST_CASE("results of different grids do not compare") {
  Header other;
  other.grid = "fedcba9876543210";
  other.base_json = "{}";
  CHECK_THROWS_AS(same_points(before(), ResultTable(other), {}), InputError);
}

}  // namespace compare_results_test
