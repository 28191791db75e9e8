#include "gui/model/panels/ops_table.hpp"

#include <algorithm>
#include <random>

#include <pipeloom/schedule.hpp>
#include "gui/model/session/command.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace ops_table_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

std::string rows_of(const OpsTable& table) {
  std::string text;
  for (std::size_t i = 0; i < table.num_rows(); ++i) text += (i == 0 ? "" : " ") + to_text(table.row(i).op);
  return text;
}

/// One rank, one stage, forwards of these durations.
RunPtr run_with(const std::vector<Ticks>& durations) {
  std::string text;
  for (std::size_t k = 0; k < durations.size(); ++k) text += (k == 0 ? "0F" : " 0F") + std::to_string(k);
  auto run = std::make_shared<RunModel>(*run_of(text));
  Ticks time = 0;
  for (std::size_t k = 0; k < durations.size(); ++k) {
    run->timeline.start[k] = time;
    run->timeline.end[k] = time += durations[k];
  }
  return run;
}

}  // namespace

TEST_CASE("the table has every op, or those that the search finds") {
  Session session;
  auto& table = session.part<OpsTable>();
  settle(session);
  CHECK(table.num_rows() == 0);
  const RunPtr run = open_in(session, run_of(kScene));
  settle(session);
  CHECK(rows_of(table) == "0F0 0F1 0B0 0B1 1F0 1B0 1F1 1B1");
  CHECK(table.row(5).rank == Rank(1));
  CHECK(table.row(5).start == 2 * kOne);
  CHECK(table.row(5).end == 4 * kOne);
  CHECK(table.find_row(5) == 5U);
  run_command(session, "search", "type:B");
  settle(session);
  CHECK(rows_of(table) == "0B0 0B1 1B0 1B1");
  CHECK(table.find_row(5) == 2U);
  CHECK_FALSE(table.find_row(0));
  run_command(session, "clear-search");
  settle(session);
  CHECK(table.num_rows() == 8);
}

TEST_CASE("the table is sorted by any column, and back") {
  Session session;
  auto& table = session.part<OpsTable>();
  open_in(session, run_of(kScene));
  run_command(session, "sort-ops", "start");
  settle(session);
  // Equal starts stay in the order of ranks.
  CHECK(rows_of(table) == "0F0 0F1 1F0 1B0 0B0 1F1 1B1 0B1");
  CHECK(table.find_row(5) == 3U);
  run_command(session, "sort-ops", "start");
  settle(session);
  CHECK(table.descending());
  CHECK(rows_of(table) == "0B1 1B1 1F1 0B0 1B0 1F0 0F1 0F0");
  CHECK(table.find_row(5) == 4U);
  run_command(session, "sort-ops", "start");
  settle(session);
  CHECK_FALSE(table.sorted_by());
  CHECK(rows_of(table) == "0F0 0F1 0B0 0B1 1F0 1B0 1F1 1B1");
  run_command(session, "sort-ops", "microbatch");
  settle(session);
  CHECK(rows_of(table) == "0F0 0B0 1F0 1B0 0F1 0B1 1F1 1B1");
  run_command(session, "sort-ops", "op");
  settle(session);
  CHECK(rows_of(table) == "0F0 0F1 0B0 0B1 1F0 1F1 1B0 1B1");
  run_command(session, "sort-ops", "duration");
  run_command(session, "search", "stage:1");
  settle(session);
  CHECK(rows_of(table) == "1F0 1F1 1B0 1B1");
  run_command(session, "sort-ops", "durations");
  CHECK(session.message.kind == MessageKind::Problem);
}

TEST_CASE("ranks in descending order need no permutation") {
  Session session;
  auto& table = session.part<OpsTable>();
  open_in(session, run_of(kScene));
  table.sort(OpColumn::Rank, true);
  settle(session);
  CHECK(rows_of(table) == "1B1 1F1 1B0 1F0 0B1 0B0 0F1 0F0");
  CHECK(table.find_row(7) == 0U);
}

TEST_CASE("rows are sorted as std::stable_sort sorts them") {
  std::mt19937_64 random(7);
  std::vector<Ticks> durations;
  for (int i = 0; i < 5000; ++i)
    durations.push_back(static_cast<Ticks>(random() % (i % 2 == 0 ? 7 : 5'000'000'000'000)));
  const RunPtr run = run_with(durations);
  std::vector<std::uint32_t> expected(durations.size());
  for (std::uint32_t i = 0; i < expected.size(); ++i) expected[i] = i;
  std::stable_sort(expected.begin(), expected.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return durations[a] < durations[b]; });
  CHECK(sorted_rows(*run, nullptr, OpColumn::Duration, {}) == expected);
}

TEST_CASE("slack is known when the table is sorted by it") {
  Session session;
  auto& table = session.part<OpsTable>();
  const RunPtr run = open_in(session, run_of(kScene));
  run_command(session, "sort-ops", "slack");
  settle(session);
  settle(session);
  REQUIRE(table.slack_known());
  CHECK(table.row(0).slack == 0);
  for (std::size_t i = 1; i < table.num_rows(); ++i) CHECK(*table.row(i - 1).slack <= *table.row(i).slack);
}

TEST_CASE("rows are copied as text") {
  Session session;
  open_in(session, run_of(kScene));
  run_command(session, "search", "mb:0 type:B");
  settle(session);
  run_command(session, "copy-ops", "csv");
  CHECK(session.clipboard ==
        "rank,op,kind,stage,microbatch,start,end,duration\n"
        "0,0B0,B,0,0,4.0,6.0,2.0\n"
        "1,1B0,B,1,0,2.0,4.0,2.0\n");
  CHECK(session.message.text == "copied 2 of 2 rows");
  CHECK(session.part<OpsTable>().text(1, 9, '\t') ==
        "rank\top\tkind\tstage\tmicrobatch\tstart\tend\tduration\n1\t1B0\tB\t1\t0\t2.0\t4.0\t2.0\n");
}

TEST_CASE("durations per kind") {
  const DurationStats stats = duration_stats(*run_of(kScene), nullptr);
  // Four forwards of 1, four backwards of 2.
  CHECK(stats.of[index_of(OpKind::Forward)] == KindDurations{4, 4 * kOne, kOne, kOne, kOne, kOne});
  CHECK(stats.of[index_of(OpKind::Backward)] ==
        KindDurations{4, 8 * kOne, 2 * kOne, 2 * kOne, 2 * kOne, 2 * kOne});
  CHECK(stats.of[index_of(OpKind::BackwardWeight)].count == 0);
  CHECK(stats.num_outliers == 0);
  // All of them are in the first and the last bin.
  CHECK(stats.linear.edges.front() == kOne);
  CHECK(stats.linear.edges.back() == 2 * kOne);
  CHECK(stats.linear.bins.front()[index_of(OpKind::Forward)] == 4);
  CHECK(stats.linear.bins.back()[index_of(OpKind::Backward)] == 4);
  CHECK(stats.logarithmic.bins.front()[index_of(OpKind::Forward)] == 4);
  // Only what was searched for.
  const auto some = std::make_shared<const std::vector<std::size_t>>(std::vector<std::size_t>{0, 2});
  CHECK(duration_stats(*run_of(kScene), some).of[index_of(OpKind::Backward)].count == 1);
}

TEST_CASE("median and 95th percentile are numbers (n - 1) / 2 and 95 (n - 1) / 100 in order") {
  std::vector<Ticks> durations;
  for (Ticks i = 1; i <= 40; ++i) durations.push_back(41 - i);
  const KindDurations d = duration_stats(*run_with(durations), nullptr).of[0];
  CHECK(d.median == 20);  // number 39 / 2 = 19, counted from 0
  CHECK(d.p95 == 38);     // number 95 * 39 / 100 = 37
  CHECK(d.total == 40 * 41 / 2);
  CHECK(d.mean() == 20.5);
}

TEST_CASE("an outlier is outside of the quartiles by more than 1.5 times their distance") {
  // In order 10 10 11 12 13 16 17 50: numbers 1 and 5 are the quartiles 10 and 16; 10 - 9 .. 16 + 9 fits.
  const DurationStats stats = duration_stats(*run_with({10, 50, 11, 10, 12, 13, 17, 16}), nullptr);
  REQUIRE(stats.num_outliers == 1);
  CHECK(stats.outliers.front().position == 1);
  CHECK(stats.outliers.front().median == 12);
  // Where all others are equal, any difference is one; three ops are too few to say.
  CHECK(duration_stats(*run_with({5, 5, 5, 5, 6}), nullptr).num_outliers == 1);
  CHECK(duration_stats(*run_with({5, 5, 60}), nullptr).num_outliers == 0);
}

TEST_CASE("every duration is in the bin whose edges are around it") {
  std::vector<Ticks> durations;
  for (Ticks i = 0; i < 500; ++i) durations.push_back(i * i);
  const DurationStats stats = duration_stats(*run_with(durations), nullptr);
  for (const DurationHistogram* histogram : {&stats.linear, &stats.logarithmic}) {
    std::size_t all = 0;
    for (std::size_t bin = 0; bin < histogram->bins.size(); ++bin) {
      CHECK(histogram->edges[bin] < histogram->edges[bin + 1]);
      const bool last = bin + 1 == histogram->bins.size();
      const auto inside = std::count_if(durations.begin(), durations.end(), [&](Ticks d) {
        return d >= histogram->edges[bin] &&
               (d < histogram->edges[bin + 1] || (last && d == histogram->edges.back()));
      });
      CHECK(histogram->total(bin) == static_cast<std::size_t>(inside));
      all += histogram->total(bin);
    }
    CHECK(all == durations.size());
  }
  CHECK(duration_stats(*run_with({3, 3}), nullptr).linear.bins.size() == 1);
}

TEST_CASE("a bin narrows the search to its durations") {
  CHECK(narrowed_to("", kOne, 2 * kOne, false, TimeUnit::Unit) == "dur>=1.0 dur<2.0");
  CHECK(narrowed_to("type:F", kOne, 2 * kOne, true, TimeUnit::Unit) == "type:F dur>=1.0 dur<=2.0");
  CHECK(narrowed_to("0F0 or 0F1", 0, kOne, false, TimeUnit::Unit) == "(0F0 or 0F1) dur>=0.0 dur<1.0");
}

TEST_CASE("statistics are made when a view asks, and follow the search") {
  Session session;
  auto& table = session.part<OpsTable>();
  open_in(session, run_of(kScene));
  settle(session);
  CHECK(table.stats() == nullptr);
  settle(session);
  REQUIRE(table.stats() != nullptr);
  CHECK(table.stats()->of[0].count == 4);
  run_command(session, "search", "mb:0");
  settle(session);
  (void)table.stats();
  settle(session);
  CHECK(table.stats()->of[0].count == 2);
}

}  // namespace ops_table_test
