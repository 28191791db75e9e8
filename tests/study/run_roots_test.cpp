#include "study/report/run_roots.hpp"

#include <sstream>

#include <pipeloom/run.hpp>
#include "sim/io/json/json_value.hpp"
#include "study/compare/compare_rule.hpp"
#include "study/report/report.hpp"
#include "study/run/input.hpp"
#include "support/catch.hpp"

namespace run_roots_test {

using namespace pipeloom;
using namespace pipeloom::study;

namespace {

Run run_of(std::vector<std::string> set, const char* schedule = "1f1b") {
  Request request;
  request.schedule = schedule;
  request.ranks = "4";
  request.microbatches = "8";
  request.set = std::move(set);
  return load_run(request, {}, TimeUnit::Unit);
}

}  // namespace

TEST_CASE("roots of every schedule sum to its idle time") {
  for (const char* schedule : {"1f1b", "gpipe", "interleaved-1f1b", "zb-h1", "zbv", "dualpipe-v", "v-half"}) {
    CAPTURE(schedule);
    const Run run = run_of({"costs.transfer.latency=0.25"}, schedule);
    TickSum sum;
    for (const RootCause& root : roots_of(run)) sum += root.amount;
    TickSum idle;
    for (const RankMetrics& rank : run.metrics->ranks) idle += rank.idle;
    CHECK(sum == idle);
    CHECK(sum > 0);
  }
}

TEST_CASE("equal stages fill and drain: 1F1B loses (p - 1)(F + B) on each rank") {
  const Run run = run_of({"costs.forward=1", "costs.backward=2"});
  const auto roots = roots_of(run);
  // Before its first backward rank r waits for F of the stages before it and B of those behind it, 6, 5, 4 and 3; then as long for the others
  // behind its last forward: 18 of 36 each.
  CHECK(roots_text(*run.schedule, roots) ==
        "the pipeline fills (50.0 % of the bubble); the pipeline drains (50.0 %)");
}

TEST_CASE("a slow stage is named with its share, in the report too") {
  const Run run = run_of({"costs.forward=[1,1,1,1.5]", "costs.backward=[2,2,2,3]"});
  const auto roots = roots_of(run);
  REQUIRE_FALSE(roots.empty());
  CHECK(roots.front().kind == RootKind::SlowStage);
  CHECK(roots.front().stage == Stage(3));
  CHECK(roots_text(*run.schedule, roots).find("F and B of stage 3 take 1.5 x as long as the others'") == 0);
  std::ostringstream out;
  write_report(out, run);
  const io::Document report = io::Document::parse(out.str(), "report");
  const io::Value* const written = report.root().find("roots");
  REQUIRE(written != nullptr);
  REQUIRE(written->items().size() == roots.size());
  CHECK(written->items()[0].find("kind")->text() == "slow-stage");
  CHECK(written->items()[0].find("what")->text() == "F and B of stage 3 take 1.5 x as long as the others'");
}

TEST_CASE("nothing idle has no roots, and no sentence") {
  Request request;
  request.schedule = "gpipe";
  request.ranks = "1";
  request.microbatches = "4";
  const Run run = load_run(request, {}, TimeUnit::Unit);
  CHECK(roots_of(run).empty());
  CHECK(roots_text(*run.schedule, {}).empty());
}

TEST_CASE("a rule on one run is about a value") {
  // 1F1B, equal stages: bubble (p - 1) / (m + p - 1) = 3 / 11 of the makespan.
  const Run run = run_of({"costs.forward=1", "costs.backward=2"});
  const auto broken = [&](const char* rule) { return breaks(parse_compare_rule(rule, {}), run); };
  CHECK(broken("bubble_ratio > 0.27"));
  CHECK_FALSE(broken("bubble_ratio > 0.28"));
  CHECK(broken("makespan >= 33"));
  CHECK_FALSE(broken("makespan > 33"));
  CHECK_THROWS_WITH(broken("makespan>+1%"), Catch::Matchers::Contains("there is one run"));
  CHECK_THROWS_WITH(broken("mfu<0.3"), Catch::Matchers::Contains("is not known"));
}

TEST_CASE("a schedule's name may stand where a file may") {
  Request request;
  request.ranks = "4";
  request.microbatches = "8";
  request.file = "zb-h1";
  const Run run = load_run(request, {}, TimeUnit::Unit);
  CHECK(run.effective->schedule == "zb-h1");
  request.file = "no-such-thing";
  CHECK_THROWS_AS(load_run(request, {}, TimeUnit::Unit), InputError);
}

TEST_CASE("behind another run a name takes that run's shape") {
  Request request;
  request.ranks = "4";
  request.microbatches = "8";
  request.set = {"costs.forward=1", "costs.backward=3"};
  const auto runs = load_runs({"1f1b", "gpipe"}, request, {});
  REQUIRE(runs.size() == 2);
  CHECK(runs.front().title == "1f1b");
  CHECK(runs.back().title == "gpipe");
  // (m + p - 1)(F + B) of both: 11 * 4.
  CHECK(runs.front().metrics->makespan == 44 * ticks_per(TimeUnit::Unit));
  CHECK(runs.back().metrics->makespan == 44 * ticks_per(TimeUnit::Unit));
}

}  // namespace run_roots_test
