#include "gui/model/panels/search.hpp"

#include <pipeloom/error.hpp>
#include <pipeloom/metrics.hpp>
#include <pipeloom/schedule.hpp>
#include "gui/model/chart/chart_part.hpp"
#include "gui/model/session/command.hpp"
#include "gui/part_state.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace search_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

std::string texts_of(const RunModel& run, const std::vector<std::size_t>& found) {
  std::string text;
  for (const std::size_t position : found)
    text += (text.empty() ? "" : " ") + to_text(run.schedule->ops()[position % run.schedule->num_ops()]);
  return text;
}

std::string found_in(const RunModel& run, const std::string& text, const std::vector<Ticks>& slack = {}) {
  return texts_of(run, SearchQuery::parse(text, run.timeline.unit).find(run, slack, Cancelled()));
}

std::string error_of(const std::string& text, TimeUnit unit = TimeUnit::Unit) {
  try {
    (void)SearchQuery::parse(text, unit);
  } catch (const InputError& error) {
    return error.line();
  }
  return "";
}

}  // namespace

TEST_CASE("a search says what ops are") {
  const RunPtr run = run_of(kScene);
  CHECK(found_in(*run, "type:B") == "0B0 0B1 1B0 1B1");
  CHECK(found_in(*run, "type:b stage:1") == "1B0 1B1");
  CHECK(found_in(*run, "KIND=F mb=1") == "0F1 1F1");
  CHECK(found_in(*run, "rank:0 type!=B") == "0F0 0F1");
  CHECK(found_in(*run, "stage:0-1 mb:1,0 type:F") == "0F0 0F1 1F0 1F1");
  CHECK(found_in(*run, "1B0") == "1B0");
  CHECK(found_in(*run, "microbatch<1") == "0F0 0B0 1F0 1B0");
  CHECK(found_in(*run, "chunk:0 slice:0 step:0 rank>=1") == "1F0 1B0 1F1 1B1");
  CHECK(found_in(*run, "stage:7").empty());
}

TEST_CASE("a search is written as the conditions of sweeps are") {
  const RunPtr run = run_of(kScene);
  CHECK(found_in(*run, "stage == 1 && duration > 1") == "1B0 1B1");
  CHECK(found_in(*run, "1 == stage && 1 < duration") == "1B0 1B1");
  CHECK(found_in(*run, "kind == F && stage == 0") == "0F0 0F1");
  CHECK(found_in(*run, "kind == 'F' || !(stage == 0)") == "0F0 0F1 1F0 1B0 1F1 1B1");
  CHECK(found_in(*run, "stage != 0 and microbatch != 1") == "1F0 1B0");
  CHECK(found_in(*run, "op == '0F1' || op:1B0") == "0F1 1B0");
  CHECK(found_in(*run, "op != '0F1' stage:0") == "0F0 0B0 0B1");
  // Both of && bind tighter than ||, with or without the sign between two conditions.
  CHECK(found_in(*run, "stage == 0 kind == 'F' || stage == 1 && mb:1 type:B") == "0F0 0F1 1B1");
}

TEST_CASE("a search joins terms with and, or, not and parentheses") {
  const RunPtr run = run_of(kScene);
  CHECK(found_in(*run, "0F0 or 1B1") == "0F0 1B1");
  // "or" binds less than standing side by side: (stage:0 type:F) or 1B1.
  CHECK(found_in(*run, "stage:0 type:F or 1B1") == "0F0 0F1 1B1");
  CHECK(found_in(*run, "stage:0 (type:F or 0B1)") == "0F0 0F1 0B1");
  CHECK(found_in(*run, "-type:F and not stage:1") == "0B0 0B1");
  CHECK(found_in(*run, "not not 0F1") == "0F1");
  CHECK(found_in(*run, "not (mb:0 or stage:0)") == "1F1 1B1");
}

TEST_CASE("a search compares times exactly") {
  const RunPtr run = run_of(kScene);
  CHECK(found_in(*run, "dur>1") == "0B0 0B1 1B0 1B1");
  CHECK(found_in(*run, "dur>=2 start<4") == "1B0");
  CHECK(found_in(*run, "start=4") == "0B0 1F1");
  CHECK(found_in(*run, "end:6-7") == "0B0 1B1");
  CHECK(found_in(*run, "start<=1 end>1") == "0F1 1F0");
  // One billionth of a unit is a tick: nothing starts after 6.999999999 and before 7.
  CHECK(found_in(*run, "start>6.999999999") == "0B1");
  CHECK(found_in(*run, "start > 7").empty());
}

TEST_CASE("a time has the run's unit, or its own") {
  auto costs = whole_units();
  costs.unit = TimeUnit::Millisecond;  // 1e9 ticks are 1 ms
  const RunPtr run = run_of(kScene, costs);
  CHECK(found_in(*run, "dur>1") == "0B0 0B1 1B0 1B1");
  CHECK(found_in(*run, "dur>1ms") == "0B0 0B1 1B0 1B1");
  CHECK(found_in(*run, "dur<1500us") == "0F0 0F1 1F0 1F1");
  CHECK(found_in(*run, "start:0.004s") == "0B0 1F1");
  CHECK(found_in(*run, "start>=7000000ns") == "0B1");
  CHECK(error_of("dur>2ms", TimeUnit::Unit) ==
        "search:1:5: error: found '2ms'; times have no unit here; give the number alone");
}

TEST_CASE("a search knows groups, slices, the critical path and slack") {
  const RunPtr group = run_of("0F0 0F1 (0F2;0B0)OVERLAP_F_B 0B1 0B2 | 1F0 1B0 1F1 1B1 1F2 1B2");
  CHECK(found_in(*group, "group") == "0F2 0B0");
  CHECK(found_in(*group, "-group rank:0 type:B") == "0B1 0B2");
  const RunPtr sliced = run_of("0F0.0 0F0.1 0B0.1 0B0.0");
  CHECK(found_in(*sliced, "slice:1") == "0F0.1 0B0.1");
  CHECK(found_in(*sliced, "0F0") == "0F0.0 0F0.1");
  CHECK(found_in(*sliced, "0F0.1") == "0F0.1");
  RunModel run = *run_of(kScene);
  CHECK(found_in(run, "critical").empty());
  run.critical_path = CriticalPath{0, {0, 4, 5}};
  CHECK(found_in(run, "critical -type:B") == "0F0 1F0");
  // Without slack nothing is known to have little, or much.
  CHECK(found_in(run, "slack<1").empty());
  CHECK(found_in(run, "slack!=1").empty());
  CHECK(found_in(run, "slack<1", {0, kOne, 0, kOne, kOne, kOne, 2 * kOne, 0}) == "0F0 0B0 1B1");
  CHECK(SearchQuery::parse("mb:1 slack=0", TimeUnit::Unit).asks_slack());
  CHECK_FALSE(SearchQuery::parse("mb:1", TimeUnit::Unit).asks_slack());
}

TEST_CASE("an op of a later step is another match") {
  const RunPtr run = run_of(pipeloom::test::scene("0F0 0B0"), whole_units(), 2);
  const auto found = SearchQuery::parse("type:F", TimeUnit::Unit).find(*run, {}, Cancelled());
  CHECK(found == std::vector<std::size_t>{0, 2});
  CHECK(SearchQuery::parse("step:1", TimeUnit::Unit).find(*run, {}, Cancelled()) ==
        std::vector<std::size_t>{2, 3});
}

TEST_CASE("a search that is not understood names the column and what is allowed") {
  CHECK(error_of("") == "");
  CHECK(error_of("type:X") ==
        "search:1:6: error: found 'X'; allowed is F, B, I, W, R, O, L, S or T, with commas between them");
  CHECK(error_of("mb:1 stage") ==
        "search:1:6: error: found 'stage'; an operator or the end must follow here");
  CHECK(error_of("stage") ==
        "search:1:1: error: 'stage' is no condition; compare it: stage == 3, stage:3, duration > 2");
  CHECK(error_of("stag:1").find("search:1:1: error: ") == 0);
  CHECK(error_of("stag:1").find("stage") != std::string::npos);
  CHECK(error_of("mb:3-1") == "search:1:4: error: found '3-1'; a range must go up");
  CHECK(error_of("mb:x").find("search:1:4: error: found 'x'; numbers are decimals") == 0);
  CHECK(error_of("mb:1.5") == "search:1:4: error: 'microbatch' is compared with whole numbers from 0 to " +
                                  std::to_string(kMaxIndex));
  CHECK(error_of("stage < 2ms", TimeUnit::Millisecond).find("search:1:9: error: 'stage' is compared") == 0);
  CHECK(error_of("(mb:1") == "search:1:6: error: found the end; ')' must close what '(' began");
  CHECK(error_of("mb:1 )") == "search:1:6: error: found ')'; an operator or the end must follow here");
  CHECK(error_of("mb:1;").find("search:1:5: ") == 0);
  CHECK(error_of("mb<1,2").find("search:1:5: ") == 0);
  CHECK(error_of("critical:1").find("search:1:9: ") == 0);
  CHECK(error_of("critical == 1").find("search:1:13: error: 'critical' is true or not") == 0);
  CHECK(error_of("not").find("search:1:4: ") == 0);
  CHECK(error_of("end - start > 1").find("does not calculate") != std::string::npos);
  CHECK(error_of("stage == rank").find("compares a field with a value") != std::string::npos);
  CHECK(error_of("kind > 'F'").find("compared with == and !=") != std::string::npos);
  CHECK(error_of("dur:'2'").find("search:1:5: ") == 0);
  CHECK(error_of(std::string(70, '(')).find("search:1:66: ") == 0);
  CHECK(error_of(std::string(5000, 'x')).find("at most 4096 are allowed") != std::string::npos);
}

TEST_CASE("the session's search finds, counts and walks") {
  Session session;
  const RunPtr run = open_in(session, run_of(kScene));
  auto& search = session.part<SearchModel>();
  CHECK(search.matches(run->id, 0));
  run_command(session, "search", "type:F");
  settle(session);
  REQUIRE(search.found(run->id));
  CHECK(texts_of(*run, *search.found(run->id)) == "0F0 0F1 1F0 1F1");
  CHECK(session.part<ChartPart>().matches.at(run->id) == search.found(run->id));
  CHECK(search.matches(run->id, 1));
  CHECK_FALSE(search.matches(run->id, 2));
  CHECK_FALSE(search.current(session));
  run_command(session, "search-next");
  CHECK(session.selection.op == OpRef{run->id, 0});
  run_command(session, "search-next");
  run_command(session, "search-next");
  CHECK(session.selection.op == OpRef{run->id, 4});
  CHECK(search.current(session) == 2U);
  run_command(session, "search-next");
  run_command(session, "search-next");
  CHECK(search.current(session) == 0U);
  run_command(session, "search-previous");
  CHECK(search.current(session) == 3U);
  // From an op between two matches.
  session.selection.op = OpRef{run->id, 5};
  CHECK_FALSE(search.current(session));
  run_command(session, "search-previous");
  CHECK(session.selection.op == OpRef{run->id, 4});
  CHECK(state_of(search, session) == R"({"active":true,"count":4,"current":2,"error":"","text":"type:F"})");
  run_command(session, "clear-search");
  CHECK_FALSE(search.active());
  CHECK(session.part<ChartPart>().matches.empty());
}

TEST_CASE("a search that is not understood leaves what was found") {
  Session session;
  const RunPtr run = open_in(session, run_of(kScene));
  auto& search = session.part<SearchModel>();
  run_command(session, "search", "type:F");
  settle(session);
  run_command(session, "search", "type:");
  CHECK(session.message.kind == MessageKind::Problem);
  CHECK(session.message.text == search.error());
  settle(session);
  CHECK(search.found(run->id)->size() == 4);
}

TEST_CASE("a run that is opened later is searched too") {
  Session session;
  auto& search = session.part<SearchModel>();
  search.set(session, "type:B");
  const RunPtr first = open_in(session, run_of(kScene));
  const RunPtr second = open_in(session, run_of("0F0 0B0"));
  settle(session);
  CHECK(search.found(first->id)->size() == 4);
  CHECK(search.found(second->id)->size() == 1);
  session.close_run(1);
  settle(session);
  CHECK(search.found(second->id) == nullptr);
}

TEST_CASE("a step that was asked for while the search ran is taken when it is done") {
  Session session;
  const RunPtr run = open_in(session, run_of(kScene));
  run_command(session, "search", "1B0");
  run_command(session, "search-next");
  settle(session);
  CHECK(session.selection.op == OpRef{run->id, 5});
  run_command(session, "search", "mb:9");
  settle(session);
  run_command(session, "search-next");
  CHECK(session.message.text == "no op matches 'mb:9'");
}

}  // namespace search_test
