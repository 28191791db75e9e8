#include "gui/model/panels/causes.hpp"

#include <pipeloom/metrics.hpp>
#include "gui/model/chart/op_walk.hpp"
#include "gui/part_state.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace causes_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

TEST_CASE("idle time by cause, in total and per rank") {
  const RunPtr run = run_of(kScene);
  const CausesSummary causes = summarise_causes(*run);
  // 2-4 is before the first backward; 6-7 behind the last forward, as is 7-9 on rank 1; 0-1 fills the pipeline.
  CHECK(causes.of_rank[0].warmup == 2 * kOne);
  CHECK(causes.of_rank[0].cooldown == kOne);
  CHECK(causes.of_rank[1].warmup == kOne);
  CHECK(causes.of_rank[1].cooldown == 2 * kOne);
  CHECK(causes.total.total() == 6 * kOne);
  CHECK(causes.most_of_rank == 3 * kOne);
  CHECK(causes.num_gaps == 4);
}

TEST_CASE("the longest gaps come in the order of longest_gap") {
  const RunPtr run = run_of("0F0 0F1 0F2 0B0 0B1 0B2 | 1F0 1F1 1B0 1F2 1B1 1B2 | 2F0 2B0 2F1 2B1 2F2 2B2");
  const CausesSummary causes = summarise_causes(*run);
  REQUIRE(causes.longest.size() == causes.num_gaps);
  std::optional<GapRef> next = longest_gap(*run);
  for (const GapRef& gap : causes.longest) {
    REQUIRE(next);
    CHECK(gap == *next);
    next = longest_gap(*run, gap);
  }
  CHECK_FALSE(next);
}

TEST_CASE("only the longest of many gaps are kept") {
  auto run = std::make_shared<RunModel>(*run_of("0F0 0B0"));
  run->idle.assign(1, {});
  // Lengths 1 .. 2 kMaxGaps in a mixed order.
  const auto n = static_cast<Ticks>(2 * kMaxGaps);
  Ticks time = 0;
  for (Ticks i = 0; i < n; ++i) {
    const Ticks length = (i * 7) % n + 1;
    run->idle[0].push_back({time, time + length, IdleCause::Imbalance});
    time += 2 * n;
  }
  const CausesSummary causes = summarise_causes(*run);
  REQUIRE(causes.longest.size() == kMaxGaps);
  CHECK(causes.num_gaps == 2 * kMaxGaps);
  for (std::size_t i = 0; i < kMaxGaps; ++i) {
    const IdleSpan& gap = run->idle[0][causes.longest[i].span];
    CHECK(gap.end - gap.start == n - static_cast<Ticks>(i));
  }
}

TEST_CASE("what the longest gap waits for is two clicks away") {
  Session session;
  auto& model = session.part<CausesModel>();
  const RunPtr run = open_in(session, run_of(kScene));
  settle(session);
  REQUIRE(model.summary() != nullptr);
  // Two gaps of 2: rank 0 comes first.
  CHECK(model.summary()->longest.front() == GapRef{run->id, Rank(0), 0});
  CHECK(model.gap_text(session, 0).find("1B0") != std::string::npos);
  REQUIRE(model.select(session, 0));
  CHECK(session.selection.gap == GapRef{run->id, Rank(0), 0});
  CHECK_FALSE(model.select(session, 99));
}

TEST_CASE("metrics of a run without configuration") {
  const RunPtr run = run_of(kScene);
  const std::vector<MetricLine> lines = metric_lines(*run, summarise_causes(*run));
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].name == "makespan");
  CHECK(lines[0].value.find('9') == 0);
  // 6 of 2 * 9.
  CHECK(lines[1].name == "bubble ratio");
  CHECK(lines[1].value == "33.3 %");
  CHECK(lines[2].value == "8");
}

TEST_CASE("causes follow the active run, and a closed one cannot be clicked") {
  Session session;
  auto& model = session.part<CausesModel>();
  open_in(session, run_of(kScene));
  const RunPtr second = open_in(session, run_of("0F0 0B0"));
  settle(session);
  CHECK(model.summary()->num_gaps == 4);
  session.active = 1;
  settle(session);
  CHECK(model.summary()->run == second->id);
  CHECK(model.summary()->num_gaps == 0);
  CHECK_FALSE(model.select(session, 0));
  CHECK(state_of(model, session).find(R"("largest":null)") != std::string::npos);
  session.close_run(1);
  session.close_run(0);
  settle(session);
  CHECK(model.summary() == nullptr);
  CHECK(state_of(model, session) == "null");
}

}  // namespace causes_test
