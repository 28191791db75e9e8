#include "study/answers/answers.hpp"

#include <random>

#include "study/answers/decisions.hpp"
#include "study/answers/select.hpp"
#include "support/catch.hpp"
#include "support/sweep_scenes.hpp"

namespace answers_test {

using namespace pipeloom;
using namespace pipeloom::sweep;
using test::table_of;

namespace {

std::vector<Row> all(const ResultTable& table) {
  return select_rows(table, {});
}

std::vector<Row> rows_of(const std::vector<FrontPoint>& front) {
  std::vector<Row> rows;
  for (const FrontPoint& point : front) rows.push_back(point.row);
  return rows;
}

/// By the definition: what no other point is better than; of equal ones the first.
std::vector<Row> front_by_definition(const ResultTable& table, const std::vector<std::string>& metrics) {
  std::vector<Row> out;
  for (const Row row : all(table)) {
    const bool beaten = [&] {
      for (const Row other : all(table)) {
        bool as_good = true;
        bool better = false;
        for (const std::string& name : metrics) {
          const std::strong_ordering order = table.metric(name, {}).compare(other, row);
          as_good = as_good && order <= 0;
          better = better || order < 0;
        }
        if (as_good && (better || other < row)) return true;
      }
      return false;
    }();
    if (!beaten) out.push_back(row);
  }
  return out;
}

}  // namespace

TEST_CASE("decisions are ranked over the environments that most of them have an answer in") {
  const ResultTable table = table_of({"makespan", "mfu"}, R"(
    schedule=a ranks=2 costs.hardware=x : makespan=10.0 mfu=0.5
    schedule=a ranks=2 costs.hardware=y : makespan=13.0 mfu=0.25
    schedule=b ranks=2 costs.hardware=x : makespan=8.0 mfu=0.75
    schedule=b ranks=2 costs.hardware=y : illegal no
    schedule=c ranks=2 costs.hardware=x : makespan=11.0 mfu=0.5
    schedule=c ranks=2 costs.hardware=y : makespan=11.0 mfu=0.5
  )");
  const auto mean = decisions_of(table, all(table), Over::Mean, {});
  REQUIRE(mean);
  CHECK(mean->keys == std::vector<std::string>{"costs.hardware"});
  CHECK(mean->environments == 2);
  CHECK(mean->answered == 2);
  REQUIRE(mean->table.rows() == 3);
  // b has no answer on y: its 8.0 is no mean of both.
  CHECK(mean->rows == std::vector<Row>{0, 2});
  CHECK(mean->table.title(0) == "a");
  CHECK(mean->table.point(2) == 4);
  CHECK(mean->table.metric("makespan", {}).number(0) == 11.5);
  CHECK(mean->table.metric("mfu", {}).number(0) == 0.375);
  // Equal values stay as they are written.
  CHECK(mean->table.metric("makespan", {}).json(2) == "11.0");
  const auto worst = decisions_of(table, all(table), Over::Worst, {});
  CHECK(worst->table.metric("makespan", {}).number(0) == 13.0);
  CHECK(worst->table.metric("mfu", {}).number(0) == 0.25);

  CHECK_FALSE(decisions_of(table, all(table), Over::Mean, {"costs.hardware"}));
  CHECK_FALSE(decisions_of(table, {0, 2, 4}, Over::Mean, {}));  // one environment
  CHECK_FALSE(decisions_of(table, {}, Over::Mean, {}));
}

TEST_CASE("nothing beats the points of the front") {
  const ResultTable table = table_of({"makespan", "peak_bytes"}, R"(
    schedule=a : makespan=10.0 peak_bytes=8
    schedule=b : makespan=12.0 peak_bytes=4
    schedule=c : makespan=12.0 peak_bytes=5
    schedule=d : makespan=11.0 peak_bytes=8
    schedule=e : makespan=12.0 peak_bytes=4
    schedule=f : illegal no
  )");
  const std::vector<std::string> metrics = {"makespan", "peak_bytes"};
  const auto front = pareto_front(table, all(table), metrics);
  CHECK(rows_of(front) == std::vector<Row>{0, 1});
  CHECK(front[0].equals == 0);
  CHECK(front[1].equals == 1);  // e
  const std::vector<std::string> one = {"peak_bytes"};
  CHECK(rows_of(pareto_front(table, all(table), one)) == std::vector<Row>{1});
}

TEST_CASE("fronts of two, three and four metrics are those of the definition") {
  std::mt19937 random(7);
  for (int scene = 0; scene < 60; ++scene) {
    std::string text;
    for (int i = 0; i < 60; ++i) {
      text += "n=" + std::to_string(i) + " :";
      for (const char* metric : {"makespan", "peak_bytes", "peak_live", "bubble_ratio"})
        text += std::string(" ") + metric + "=" + std::to_string(random() % 12);
      text += "\n";
    }
    const ResultTable table = table_of({"makespan", "peak_bytes", "peak_live", "bubble_ratio"}, text);
    std::vector<std::string> metrics;
    for (const auto& metric : table.metrics()) {
      metrics.push_back(metric.name);
      auto found = rows_of(pareto_front(table, all(table), metrics));
      if (metrics.size() < 2) continue;
      std::sort(found.begin(), found.end());
      CHECK(found == front_by_definition(table, metrics));
    }
  }
}

TEST_CASE("a map names who wins each cell, ties and cells without an answer") {
  const ResultTable table = table_of({"makespan"}, R"(
    schedule=gpipe ranks=4 microbatches=8 : makespan=33.0
    schedule=1f1b  ranks=4 microbatches=8 : makespan=33.0
    schedule=zb-h1 ranks=4 microbatches=8 : makespan=34.0
    schedule=gpipe ranks=4 microbatches=16 : makespan=60.0
    schedule=zb-h1 ranks=4 microbatches=16 : makespan=50.0
    schedule=gpipe ranks=8 microbatches=8 : illegal no
    schedule=1f1b  ranks=8 microbatches=8 : over_memory makespan=1.0
  )");
  const auto map = winner_map(table, all(table), {});
  REQUIRE(map);
  CHECK(map->what == "schedule");
  CHECK(map->x.key == "microbatches");
  CHECK(map->y.key == "ranks");
  CHECK(map->x.values == std::vector<std::string>{"8", "16"});
  CHECK(map->contenders == std::vector<std::string>{"1f1b", "gpipe", "zb-h1"});
  CHECK(map->at(0, 0).winners == std::vector<std::uint32_t>{0, 1});
  CHECK(map->at(0, 0).best == Row{0});
  CHECK(map->at(1, 0).winners == std::vector<std::uint32_t>{2});
  CHECK_FALSE(map->at(0, 1).best);
  CHECK(map->at(0, 1).all == 2);
  CHECK(map->at(1, 1).all == 0);
  CHECK(map->wins == std::vector<std::size_t>{1, 1, 1});
}

TEST_CASE("a map of one key is one row high, without a key there is none") {
  const ResultTable table = table_of({"makespan"}, R"(
    schedule=gpipe ranks=4 : makespan=33.0
    schedule=1f1b ranks=8 : makespan=32.0
  )");
  const auto map = winner_map(table, all(table), {});
  REQUIRE(map);
  CHECK(map->x.key == "ranks");
  CHECK(map->y.key.empty());
  CHECK(map->cells.size() == 2);
  CHECK_FALSE(winner_map(table_of({"makespan"}, "ranks=4 : makespan=1.0"), {0}, {}));
  CHECK_THROWS_WITH(winner_map(table, all(table), {"rank", "", "", ""}),
                    Catch::Matchers::Contains("did you mean 'ranks'"));
  CHECK_THROWS_AS(winner_map(table, all(table), {"ranks", "ranks", "", ""}), InputError);
}

TEST_CASE("cells without a winner say why") {
  // The grid has ranks * microbatches <= 64 only: (8, 16) is no point of it.
  const ResultTable table = table_of({"makespan"}, R"(
    schedule=gpipe ranks=4 microbatches=8  : makespan=33.0
    schedule=gpipe ranks=4 microbatches=16 : makespan=60.0
    schedule=gpipe ranks=8 microbatches=8  : illegal no
    schedule=1f1b  ranks=8 microbatches=8  : illegal no
  )");
  const Where here;
  const RowFilter filters[] = {{table, "microbatches < 16", here}};
  const auto map = winner_map(table, select_rows(table, filters), {});
  REQUIRE(map);
  CHECK(kind_of(map->at(0, 0)) == CellKind::Won);
  CHECK(kind_of(map->at(1, 0)) == CellKind::NotAsked);
  CHECK(kind_of(map->at(0, 1)) == CellKind::NoAnswer);
  CHECK(kind_of(map->at(1, 1)) == CellKind::NoPoint);
  CHECK(map->whole_grid);
}

namespace {

/// Microbatches and the time of a forward follow from the ranks.
const char* const kDerived = R"(
  schedule=gpipe ranks=4 microbatches=32 costs.forward=2 : makespan=40.0 bubble_ratio=0.2
  schedule=1f1b  ranks=4 microbatches=32 costs.forward=2 : makespan=39.0 bubble_ratio=0.1
  schedule=gpipe ranks=8 microbatches=64 costs.forward=1 : makespan=70.0 bubble_ratio=0.4
  schedule=1f1b  ranks=8 microbatches=64 costs.forward=1 : makespan=69.0 bubble_ratio=0.3
)";

}  // namespace

TEST_CASE("what a grid derives is none of its axes") {
  const ResultTable table = table_of({"makespan", "bubble_ratio"}, kDerived, "{}",
                                     R"([{"key": "schedule", "points": 2}, {"key": "ranks", "points": 2}])");
  CHECK(table.is_derived("microbatches"));
  CHECK_FALSE(table.is_derived("ranks"));
  CHECK(varying_keys(table) == std::vector<std::string>{"schedule", "ranks"});
  CHECK(table.title(0) == "gpipe, ranks 4");
  const auto map = winner_map(table, all(table), {});
  REQUIRE(map);
  CHECK(map->what == "schedule");
  CHECK(map->x.key == "ranks");
  CHECK(map->y.key.empty());
  // One may still ask for it.
  CHECK(winner_map(table, all(table), {"microbatches", "", "", ""})->x.key == "microbatches");
  // Points that differ in ranks differ in what follows from them too, and that is no other axis: 30 in both groups.
  const auto found = sensitivities(table, all(table), "makespan");
  REQUIRE(found.size() == 2);
  CHECK(found[0].key == "ranks");
  CHECK(found[0].mean_range == 30);
  CHECK(found[1].key == "schedule");
  // Work that is derived differs all the same.
  CHECK(default_metric(table_of({"makespan", "bubble_ratio"}, kDerived, "{}",
                                R"([{"key": "schedule", "points": 2}])")) == "bubble_ratio");
}

TEST_CASE("keys of a zip are one axis") {
  const ResultTable table =
      table_of({"makespan"}, R"(
    chunks=1 ranks=4 microbatches=16 : makespan=10.0
    chunks=1 ranks=8 microbatches=32 : makespan=14.0
    chunks=2 ranks=4 microbatches=16 : makespan=8.0
    chunks=2 ranks=8 microbatches=32 : makespan=13.0
  )",
               "{}", R"([{"key": "chunks", "points": 2}, {"keys": ["ranks", "microbatches"], "points": 2}])");
  CHECK(table.move_together("ranks", "microbatches"));
  const auto map = winner_map(table, all(table), {});
  REQUIRE(map);
  CHECK(map->x.key == "microbatches");
  CHECK(map->y.key.empty());  // ranks would give a diagonal
  const auto found = sensitivities(table, all(table), "makespan");
  REQUIRE(found.size() == 2);
  CHECK(found[0].key == "ranks and microbatches");
  CHECK(found[0].mean_range == 4.5);  // (4 + 5) / 2
}

TEST_CASE("axes of a union are named once") {
  const ResultTable table = table_of(
      {}, "a=1 : illegal no\nb=1 c=2 : illegal no", "{}",
      R"([[{"key": "a", "points": 1}], [{"key": "a", "points": 2}, {"keys": ["b", "c"], "points": 1}]])");
  CHECK(table.axes() == std::vector<std::vector<std::string>>{{"a"}, {"b", "c"}});
}

TEST_CASE("many values along a side are put into ranges") {
  std::string text;
  for (int i = 0; i <= 240; ++i) {
    const std::string n = std::to_string(i);
    text += "schedule=" + std::string(i % 2 == 0 ? "a" : "b") + " costs.forward=" + n + " : makespan=" + n +
            ".0\n";
  }
  const ResultTable table = table_of({"makespan"}, text);
  const auto map = winner_map(table, all(table), {});
  REQUIRE(map);
  REQUIRE(map->x.ranges);
  REQUIRE(map->x.values.size() == kMapRanges);
  CHECK(map->x.values.front() == "0 to 10");
  CHECK(map->at(0, 0).points == 10);
  CHECK(map->at(kMapRanges - 1, 0).points == 11);  // 230 .. 240
  CHECK(map->at(1, 0).best == Row{10});
}

TEST_CASE("sensitivity is the mean range when one key varies alone") {
  const ResultTable table = table_of({"makespan"}, R"(
    ranks=4 chunks=1 : makespan=10.0
    ranks=4 chunks=2 : makespan=13.0
    ranks=8 chunks=1 : makespan=20.0
    ranks=8 chunks=2 : makespan=21.0
  )");
  const auto found = sensitivities(table, all(table), "makespan");
  REQUIRE(found.size() == 2);
  CHECK(found[0].key == "ranks");
  CHECK(found[0].mean_range == 9);  // (20 - 10 + 21 - 13) / 2
  CHECK(found[0].groups == 2);
  CHECK(found[1].mean_range == 2);  // (3 + 1) / 2
  CHECK(found[1].mean_relative == Approx((3.0 / 10 + 1.0 / 20) / 2));
}

TEST_CASE("times of different work do not compare, so shares are asked for there") {
  const char* const metrics = " : makespan=3.0 bubble_ratio=0.1 peak_bytes=1\n";
  const auto asked = [&](const std::string& first, const std::string& second) {
    return default_metric(
        table_of({"makespan", "bubble_ratio", "peak_bytes"}, first + metrics + second + metrics));
  };
  CHECK(asked("ranks=4", "ranks=8") == "bubble_ratio");
  CHECK(asked("schedule=a", "schedule=b") == "makespan");
}

TEST_CASE("the other metric is memory that differs") {
  const ResultTable table = table_of({"makespan", "peak_bytes", "peak_live"}, R"(
    ranks=4 : makespan=1.0 peak_bytes=5 peak_live=2
    ranks=8 : makespan=2.0 peak_bytes=5 peak_live=3
  )");
  CHECK(default_other_metric(table, "makespan") == "peak_live");
}

}  // namespace answers_test
