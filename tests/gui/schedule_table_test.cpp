#include "gui/model/panels/schedule_table.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

#include "gui/model/session/command.hpp"
#include "gui/part_state.hpp"
#include "schedules/generator.hpp"
#include "sim/kinds.hpp"
#include "study/run/evaluate.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace schedule_table_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

constexpr Ticks kUnit = 1'000'000'000;
const Assignments kRun = {{"schedule", "\"1f1b\""}, {"ranks", "4"}, {"microbatches", "8"}};

const ScheduleRow& row_of(const ScheduleTable& table, const std::string& name) {
  const auto found = std::find_if(table.rows().begin(), table.rows().end(),
                                  [&](const ScheduleRow& row) { return row.name == name; });
  REQUIRE(found != table.rows().end());
  return *found;
}

ScheduleRow row_of(const Assignments& run, const std::string& schedule) {
  return evaluate_row(study::workload_of(config_of(run)), schedule);
}

/// The table in view, of the configuration that the first start shows: 1f1b, p = 4, m = 8.
ScheduleTable& open_table(Session& session) {
  session.preferences.panels["schedules"] = true;
  (void)session.part<ConfigModel>();
  return session.part<ScheduleTable>();
}

}  // namespace

TEST_CASE("rows of the schedules hold what a simulation of each gives") {
  // F = 1, B = 2: (m + p - 1)(F + B) = 33 for both; gpipe keeps all 8 microbatches, 1f1b 4.
  const ScheduleRow gpipe = row_of(kRun, "gpipe");
  CHECK(gpipe.refusal.empty());
  CHECK(gpipe.makespan == 33 * kUnit);
  CHECK(gpipe.bubble_ratio == Approx(9.0 / 33));
  const ScheduleRow one = row_of(kRun, "1f1b");
  CHECK(one.makespan == 33 * kUnit);
  CHECK(gpipe.peak_bytes == Approx(2 * one.peak_bytes));
  const io::Config config = config_of(kRun);
  const Run run = study::evaluate(config);
  CHECK(one.gap == Approx(static_cast<double>(run.metrics->makespan) /
                              static_cast<double>(run.metrics->lower_bound.value) -
                          1));
}

TEST_CASE("schedules with several chunks run the same model") {
  // A stage is half a rank's layers: F = 0.5, B = 1. The bubble is (p - 1)(F + B), half of 1f1b's.
  const Assignments interleaved = with_schedule(kRun, "interleaved-1f1b");
  CHECK(interleaved.at("costs.per") == "\"rank\"");
  CHECK(interleaved.at("costs.forward") == "1.0");
  CHECK(interleaved.at("costs.backward") == "2.0");
  const ScheduleRow row = row_of(kRun, "interleaved-1f1b");
  CHECK(row.chunks == 2);
  CHECK(row.makespan == (8 * 3 + 3 * 3 / 2) * kUnit + kUnit / 2);
}

TEST_CASE("costs and sizes with units are dealt out like plain numbers") {
  const Assignments literal = {{"schedule", "\"1f1b\""},       {"ranks", "4"},
                               {"microbatches", "8"},          {"costs.forward", "\"10ms\""},
                               {"costs.backward", "\"20ms\""}, {"memory.activation_bytes", "\"1.5GB\""}};
  Assignments plain = literal;
  plain["costs.time_unit"] = "\"ms\"";
  plain["costs.forward"] = "10";
  plain["costs.backward"] = "20";
  plain["memory.activation_bytes"] = "1500000000";
  // Costs per stage become costs per rank, which two chunks share.
  const ScheduleRow with_units = row_of(literal, "interleaved-1f1b");
  const ScheduleRow without = row_of(plain, "interleaved-1f1b");
  CHECK(with_units.refusal.empty());
  CHECK(with_units.makespan == without.makespan);
  CHECK(with_units.peak_bytes == without.peak_bytes);
  // 1f1b holds p = 4 activations of 1.5 GB on its first rank.
  CHECK(row_of(literal, "1f1b").peak_text == "6.0 GB");
  CHECK(row_of(literal, "1f1b").peak_note == "6.0 GB (5.6 GiB) of activations");
}

TEST_CASE("relative sizes are told in activations of a stage under edit") {
  CHECK(row_of(kRun, "1f1b").peak_text == "4");
  CHECK(row_of(kRun, "1f1b").peak_note == "4 activations of a stage");
  // Interleaved, rank 0 begins with (v - 1) p + 2 (p - 1) + 1 = 11 forwards, each of half of what was a stage.
  CHECK(row_of(kRun, "interleaved-1f1b").peak_note == "5.5 activations of a stage");
  // The other way round a rank holds two stages: 11 of them, and each of 1f1b's 4 is two.
  Assignments interleaved = kRun;
  interleaved["schedule"] = "\"interleaved-1f1b\"";
  interleaved["chunks"] = "2";
  CHECK(row_of(interleaved, "interleaved-1f1b").peak_text == "11");
  CHECK(row_of(interleaved, "1f1b").peak_text == "8");
  // Per rank, a stage's activation is that of all of a rank's layers.
  interleaved["costs.per"] = "\"rank\"";
  CHECK(row_of(interleaved, "interleaved-1f1b").peak_text == "5.5");
  CHECK(row_of(interleaved, "1f1b").peak_text == "4");
  // Sizes do not change the count: 3 for an activation of any stage.
  interleaved["costs.per"] = "\"stage\"";
  interleaved["memory.activation_bytes"] = "3";
  CHECK(row_of(interleaved, "interleaved-1f1b").peak_text == "11");
  CHECK(row_of(interleaved, "1f1b").peak_text == "8");
}

TEST_CASE("runs without a flush are compared by the time of one update") {
  // Warm-up and cool-down, (p - 1)(F + B) = 9, come once for all updates of m (F + B) = 24.
  const ScheduleRow row = row_of(kRun, "pipedream-2bw");
  CHECK(row.updates > 1);
  CHECK(row.makespan == (24 * row.updates + 9) * kUnit);
  CHECK(row.update_time() == Approx((24 + 9.0 / row.updates) * kUnit));
}

TEST_CASE("the schedule under edit keeps its options, others drop what they do not take") {
  Assignments grouped = kRun;
  grouped["schedule"] = "\"interleaved-1f1b\"";
  grouped["chunks"] = "2";
  grouped["options.group_size"] = "4";
  CHECK(with_schedule(grouped, "interleaved-1f1b") == grouped);
  const Assignments one = with_schedule(grouped, "1f1b");
  CHECK_FALSE(one.contains("options.group_size"));
  CHECK_FALSE(one.contains("chunks"));
  CHECK(one.at("costs.forward") == "2.0");  // two chunks of 1
  CHECK(one.at("costs.per") == "\"rank\"");
  CHECK_FALSE(with_schedule(kRun, "custom").contains("ranks"));
  CHECK_THROWS_AS(with_schedule(kRun, "2f2b"), InputError);
}

TEST_CASE("a schedule that refuses the shape says why, a run that is too large is left out") {
  Assignments odd = kRun;
  odd["ranks"] = "5";
  const ScheduleRow dualpipe = row_of(odd, "dualpipe");
  CHECK(dualpipe.refusal.find("even") != std::string::npos);
  Assignments large = kRun;
  large["ranks"] = "1024";
  large["microbatches"] = "1000";  // 3 p m = 3.07e6 ops
  CHECK(row_of(large, "1f1b").refusal.find("too large") != std::string::npos);
  // Few ops, but too many ranks.
  CHECK(row_of({{"schedule", "\"1f1b\""}, {"ranks", "32768"}, {"microbatches", "1"}}, "gpipe").refusal ==
        "too large for a table of all schedules; simulate it by itself");
}

TEST_CASE("the table follows the configuration, sorted") {
  Session session;
  ScheduleTable& table = open_table(session);
  settle(session);
  REQUIRE(table.rows().size() == schedules::all().size());
  CHECK_FALSE(table.pending());
  CHECK(row_of(table, "1f1b").makespan == 33 * kUnit);
  run_command(session, "set", "ranks 5");
  settle(session);
  CHECK(table.rows().size() == schedules::all().size());
  CHECK(row_of(table, "1f1b").makespan == 36 * kUnit);
  CHECK_FALSE(row_of(table, "dualpipe").refusal.empty());

  table.sort_by(ScheduleTable::Column::Bubble, true);
  const auto refused = std::find_if(table.rows().begin(), table.rows().end(),
                                    [](const ScheduleRow& row) { return !row.refusal.empty(); });
  CHECK(std::is_sorted(table.rows().begin(), refused, [](const ScheduleRow& a, const ScheduleRow& b) {
    return a.bubble_ratio > b.bubble_ratio;
  }));
  CHECK(
      std::all_of(refused, table.rows().end(), [](const ScheduleRow& row) { return !row.refusal.empty(); }));
  table.sort_by(ScheduleTable::Column::Name, false);
  CHECK(std::is_sorted(table.rows().begin(),
                       std::find_if(table.rows().begin(), table.rows().end(),
                                    [](const ScheduleRow& row) { return !row.refusal.empty(); }),
                       [](const ScheduleRow& a, const ScheduleRow& b) { return a.name < b.name; }));
}

TEST_CASE("a click gives the run that the row promised") {
  Session session;
  ScheduleTable& table = open_table(session);
  settle(session);
  for (const schedules::Generator& generator : schedules::all()) {
    const ScheduleRow row = row_of(table, generator.name);
    if (!row.refusal.empty()) continue;
    CAPTURE(row.name);
    run_command(session, "take-schedule", row.name);
    settle(session);
    CHECK(session.part<ConfigModel>().problem().empty());
    REQUIRE(session.active_run() != nullptr);
    CHECK(session.active_run()->metrics->makespan == row.makespan);
    run_command(session, "undo");
    settle(session);
    CHECK(session.part<ConfigModel>().value("schedule") == "1f1b");
  }
}

TEST_CASE("a tick stacks a schedule, edits reach it, another tick takes it away") {
  Session session;
  ScheduleTable& table = open_table(session);
  settle(session);
  table.tick(session, "gpipe", true);
  settle(session);
  REQUIRE(session.runs.size() == 2);
  CHECK(session.runs[0].live);
  CHECK(session.runs[1].compared);
  CHECK(session.runs[1].run->metrics->makespan == 33 * kUnit);
  run_command(session, "set", "ranks 6");
  settle(session);
  REQUIRE(session.runs.size() == 2);
  CHECK(session.runs[1].run->metrics->makespan == (8 + 6 - 1) * 3 * kUnit);
  table.tick(session, "gpipe", false);
  settle(session);
  CHECK(session.runs.size() == 1);

  table.tick(session, "gpipe", true);
  settle(session);
  REQUIRE(session.runs.size() == 2);
  session.close_run(1);  // elsewhere
  settle(session);
  CHECK_FALSE(table.ticked("gpipe"));
  CHECK(session.runs.size() == 1);
}

TEST_CASE("the state of the table names every schedule") {
  Session session;
  ScheduleTable& table = open_table(session);
  settle(session);
  const auto state = nlohmann::json::parse(state_of(table, session));
  CHECK(state.at("pending") == false);
  REQUIRE(state.at("rows").size() == schedules::all().size());
  CHECK(state.at("rows")[0].contains("makespan"));
}

namespace {

const ScheduleLine& line_of(const ScheduleTable& table, const std::string& name) {
  const auto found = std::find_if(table.lines().begin(), table.lines().end(), [&](const ScheduleLine& line) {
    return table.rows()[line.row].name == name;
  });
  REQUIRE(found != table.lines().end());
  return *found;
}

bool has_line(const ScheduleTable& table, const std::string& name) {
  return std::any_of(table.lines().begin(), table.lines().end(),
                     [&](const ScheduleLine& line) { return table.rows()[line.row].name == name; });
}

}  // namespace

TEST_CASE("lines say the step against the baseline, and what the limit leaves or what is missing") {
  Session session;
  ScheduleTable& table = open_table(session);
  run_command(session, "set", "costs.forward 10ms");
  run_command(session, "set", "costs.backward 20ms");
  run_command(session, "set", "memory.activation_bytes 1GB");
  run_command(session, "set", "memory.limit_bytes 6GB");
  settle(session);
  CHECK(table.heads().change == "against 1f1b");
  CHECK(table.heads().peak == "peak of 6.0 GB");
  CHECK(table.heads().limited);
  // (m + p - 1)(F + B) = 11 * 30 ms for both; 1f1b holds p = 4 activations of 1 GB on its first rank, gpipe all m = 8.
  const ScheduleLine& one = line_of(table, "1f1b");
  CHECK(one.step == "330.0 ms");
  CHECK(one.change == "0.0 %");
  CHECK(one.bubble == "27.3 %");  // (p - 1) / (m + p - 1) = 3 / 11
  CHECK(one.peak == "4.0 GB");
  CHECK(one.room == "fits, 2.0 GB free");
  CHECK(one.peak_share == Approx(4.0 / 6));
  CHECK(line_of(table, "gpipe").room == "needs 2.0 GB more");
  // Two chunks: 8 * 30 ms, and half of the bubble of 3 * 30 ms.
  CHECK(line_of(table, "interleaved-1f1b").step == "285.0 ms");
  CHECK(line_of(table, "interleaved-1f1b").change == "-13.6 %");
}

TEST_CASE("filters leave out what does not fit and what trains something else") {
  Session session;
  ScheduleTable& table = open_table(session);
  run_command(session, "set", "memory.activation_bytes 1GB");
  run_command(session, "set", "memory.limit_bytes 6GB");
  settle(session);
  CHECK(table.lines().size() == table.rows().size());
  table.show_only({.fits = true});
  CHECK(has_line(table, "1f1b"));
  CHECK_FALSE(has_line(table, "gpipe"));
  table.show_only({.synchronous = true});
  CHECK(has_line(table, "gpipe"));
  CHECK_FALSE(has_line(table, "pipedream-2bw"));
  CHECK_FALSE(row_of(table, "pipedream-2bw").synchronous);
  table.show_only({});
  CHECK(table.lines().size() == table.rows().size());
}

TEST_CASE("a click on a head sorts by it, another the other way round") {
  using Column = ScheduleTable::Column;
  Session session;
  ScheduleTable& table = open_table(session);
  run_command(session, "set", "memory.activation_bytes 1GB");
  run_command(session, "set", "memory.limit_bytes 6GB");
  settle(session);
  CHECK(table.sorted_by() == Column::Step);
  const auto ascending = [&](auto value) {
    const auto refused = std::find_if(table.rows().begin(), table.rows().end(),
                                      [](const ScheduleRow& row) { return !row.refusal.empty(); });
    return std::is_sorted(table.rows().begin(), refused,
                          [&](const ScheduleRow& a, const ScheduleRow& b) { return value(a) < value(b); });
  };
  CHECK(ascending([](const ScheduleRow& row) { return row.one_step(); }));
  table.sort_by(Column::Step);
  CHECK(ascending([](const ScheduleRow& row) { return -row.one_step(); }));
  table.sort_by(Column::Room);  // the most room first
  CHECK(ascending([](const ScheduleRow& row) { return -*row.headroom; }));
  table.sort_by(Column::Peak);
  CHECK(ascending([](const ScheduleRow& row) { return row.held; }));
  table.sort_by(Column::Chunks);
  CHECK(ascending([](const ScheduleRow& row) { return row.chunks; }));
}

TEST_CASE("rows of the configuration before are marked until they are computed again") {
  Session session;
  ScheduleTable& table = open_table(session);
  settle(session);
  CHECK_FALSE(row_of(table, "gpipe").stale);
  run_command(session, "set", "ranks 6");
  session.update();
  // Nothing of the new configuration is there yet: 33 is (8 + 4 - 1)(1 + 2), of four ranks.
  const ScheduleRow before = row_of(table, "gpipe");
  CHECK(before.stale);
  CHECK(before.makespan == 33 * kUnit);
  CHECK(std::ranges::any_of(table.lines(), [](const ScheduleLine& line) { return !line.step.empty(); }));
  std::size_t fresh = 0;
  while (!session.idle()) {
    session.update();
    std::size_t now = 0;
    for (const ScheduleRow& row : table.rows()) {
      if (!row.stale) ++now;
      // With six ranks gpipe takes (8 + 6 - 1) * 3: whoever is not marked has the new number.
      if (row.name == "gpipe") CHECK(row.makespan == (row.stale ? 33 : 39) * kUnit);
    }
    // A row of before has no difference: it would be one of two configurations.
    for (const ScheduleLine& line : table.lines())
      if (table.rows()[line.row].stale) CHECK(line.change.empty());
    CHECK(now >= fresh);
    fresh = now;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  session.update();
  CHECK(fresh == table.rows().size());
  const auto state = nlohmann::json::parse(state_of(table, session));
  CHECK(state.at("rows")[0].at("stale") == false);
}

}  // namespace schedule_table_test
