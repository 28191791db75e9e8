#include "study/sweep/result/table.hpp"

#include <cmath>

#include "sim/io/json/json_value.hpp"
#include "study/answers/select.hpp"
#include "support/catch.hpp"
#include "support/sweep_scenes.hpp"

namespace table_test {

using namespace pipeloom;
using namespace pipeloom::sweep;
using test::table_of;

namespace {

Column column_of(const std::vector<std::string>& values) {
  Column column;
  for (const std::string& value : values) value.empty() ? column.add_missing() : column.add(value);
  return column;
}

std::vector<std::string> texts(const Column& column) {
  std::vector<std::string> out;
  for (Row row = 0; row < column.size(); ++row) out.push_back(column.text(row));
  return out;
}

RowFilter filter(const ResultTable& table, const std::string& text) {
  return {table, text, {"--where"}};
}

std::vector<Row> where(const ResultTable& table, const std::string& text) {
  const RowFilter filters[] = {filter(table, text)};
  return select_rows(table, filters);
}

const char* const kThree = R"(
  schedule=gpipe ranks=4 : makespan=33.0 bubble_ratio=0.2727
  schedule=1f1b ranks=4 : makespan=33.0 bubble_ratio=0.25
  schedule=gpipe ranks=8 : makespan=45.5 bubble_ratio=0.4
  schedule=zb-h1 ranks=8 : illegal needs 8 microbatches, found 4
  schedule=zb-h2 ranks=8 : over_memory makespan=30.0 bubble_ratio=0.1
)";

}  // namespace

TEST_CASE("a column keeps decimals exactly and shows them as the file has them") {
  const Column times = column_of({"33.0", "33.25", "", "0.5"});
  CHECK(times.kind() == Column::Kind::Fixed);
  CHECK(texts(times) == std::vector<std::string>{"33.0", "33.25", "-", "0.5"});
  CHECK(times.number(1) == 33.25);
  CHECK(std::isnan(times.number(2)));
  CHECK((times.compare(0, 1) < 0));
  CHECK((times.compare(2, 0) > 0));  // missing comes last
  CHECK(texts(column_of({"8", "1.50", "-3"})) == std::vector<std::string>{"8", "1.5", "-3"});
}

TEST_CASE("a metric is compared with numbers of its own unit") {
  const ResultTable table = table_of({"makespan", "bubble_ratio"}, kThree, R"({"costs":{"time_unit":"ms"}})");
  CHECK_THROWS_WITH(filter(table, "makespan < 2KB"),
                    Catch::Matchers::Contains("compares makespan, a time, with a size; give a time"));
  CHECK_THROWS_AS(filter(table, "2KB > makespan && ranks == 4"), InputError);
  CHECK_THROWS_AS(filter(table, "bubble_ratio < 1GiB"), InputError);
  CHECK_THROWS_AS(filter(table, "ranks == 4 && bubble_ratio >= 2ms"), InputError);
  CHECK(where(table, "ranks < 1KB").size() == 3);  // a key may be anything
  CHECK(where(table, "makespan < 40ms").size() == 2);
  CHECK(where(table, "makespan < 40").size() == 2);
}

TEST_CASE("integers that a double cannot tell apart stay apart") {
  const Column bytes = column_of({"9007199254740993", "9007199254740992"});
  CHECK(bytes.number(0) == bytes.number(1));
  CHECK((bytes.compare(0, 1) > 0));
  CHECK(bytes.bits(0) != bytes.bits(1));
}

TEST_CASE("a column takes the kind that its values need") {
  SECTION("ratios are doubles with their shortest text") {
    const Column ratios = column_of({"0.5", "0.27272727272727271", "1e-300", "0"});
    CHECK(ratios.kind() == Column::Kind::Real);
    CHECK(texts(ratios) == std::vector<std::string>{"0.5", "0.2727272727272727", "1e-300", "0"});
  }
  SECTION("names and mixtures are texts, numbers in them by value") {
    const Column mixed = column_of({"10", "9", "\"zb\"", "[1,2]", ""});
    CHECK(mixed.kind() == Column::Kind::Text);
    CHECK(texts(mixed) == std::vector<std::string>{"10", "9", "zb", "[1,2]", "-"});
    CHECK((mixed.compare(1, 0) < 0));
    CHECK(mixed.json(2) == "\"zb\"");
  }
  SECTION("scales beyond 2^62 become doubles") {
    CHECK(column_of({"4000000000000000000", "0.5"}).kind() == Column::Kind::Real);
  }
}

TEST_CASE("levels are the distinct values in order") {
  const Column column = column_of({"\"b\"", "\"a\"", "", "\"b\""});
  const Levels levels = levels_of(column, {0, 1, 2, 3});
  CHECK(levels.level_of == std::vector<std::uint32_t>{1, 0, Levels::kNone, 1});
  CHECK(levels.example == std::vector<Row>{1, 0});
}

TEST_CASE("a table has keys, metrics, statuses and errors of its lines") {
  const ResultTable table = table_of({"makespan", "bubble_ratio"}, kThree, R"({"costs":{"time_unit":"ms"}})");
  CHECK(table.rows() == 5);
  CHECK(table.status_counts() == std::array<std::size_t, 5>{3, 1, 0, 1, 0});
  CHECK(table.title(3) == "zb-h1, ranks 8");
  CHECK(table.units().time == "ms");
  CHECK_FALSE(table.metric("makespan", {}).has(3));
  CHECK(table.metric("makespan", {}).text(4) == "30.0");
  CHECK(table.document(2).root().canonical_text() ==
        R"({"costs":{"time_unit":"ms"},"ranks":8,"schedule":"gpipe"})");
  REQUIRE(table.errors().size() == 2);
  CHECK(table.errors()[0].example == "needs 8 microbatches, found 4");
}

TEST_CASE("errors that differ in numbers only are counted together") {
  const ResultTable table = table_of({"makespan"}, R"(
    ranks=3 : illegal found 3 ranks
    ranks=5 : illegal found 5 ranks
    ranks=4 : deadlock rank 1 waits
  )");
  const auto errors = table.errors();
  REQUIRE(errors.size() == 2);
  CHECK(errors[0].count == 2);
  CHECK(errors[0].example == "found 3 ranks");
  CHECK(errors[1].status == Status::Hang);
}

TEST_CASE("a key that comes later is missing before") {
  const ResultTable table = table_of({"makespan"}, R"(
    ranks=4 : makespan=1.0
    ranks=4 chunks=2 : makespan=2.0
  )");
  CHECK(texts(table.column("chunks", {})) == std::vector<std::string>{"-", "2"});
  CHECK(table.title(0) == "ranks 4");
}

TEST_CASE("conditions choose points") {
  const ResultTable table =
      table_of({"makespan", "bubble_ratio"}, kThree, R"({"memory":{"limit_bytes":80000000000}})");
  CHECK(where(table, "ranks == 4") == std::vector<Row>{0, 1});
  CHECK(where(table, "makespan > 40 || schedule == '1f1b'") == std::vector<Row>{1, 2});
  SECTION("only what is ok, unless the status is asked for") {
    CHECK(where(table, "ranks == 8") == std::vector<Row>{2});
    CHECK(where(table, "status == 'over_memory' && bubble_ratio < 0.2") == std::vector<Row>{4});
    CHECK(where(table, "status != 'ok'") == std::vector<Row>{3, 4});
  }
  SECTION("what lacks a value does not match") {
    CHECK(where(table, "status == 'illegal' && makespan >= 0").empty());
  }
  SECTION("keys of the base are constants") {
    CHECK(where(table, "memory.limit_bytes == 80000000000 && ranks == 4") == std::vector<Row>{0, 1});
  }
  CHECK(where(table, "point % 2 == 0") == std::vector<Row>{0, 2});
  CHECK_THROWS_WITH(filter(table, "makespam > 1"), Catch::Matchers::Contains("did you mean 'makespan'"));
}

TEST_CASE("the best points, in total and of each group") {
  const ResultTable table = table_of({"makespan", "bubble_ratio"}, kThree);
  const std::vector<Row> rows = select_rows(table, {});
  CHECK(best_rows(table, rows, "makespan", 2) == std::vector<Row>{0, 1});  // equal: as in the result
  CHECK(best_rows(table, rows, "bubble_ratio", 9) == std::vector<Row>{1, 0, 2});
  const auto groups = best_of_groups(table, rows, "ranks", "bubble_ratio", 1);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].value == "4");
  CHECK(groups[0].best == std::vector<Row>{1});
  CHECK(groups[1].best == std::vector<Row>{2});
}

TEST_CASE("a million points take far less than 200 MB") {
  Header header;
  header.metrics = {"makespan", "bubble_ratio", "peak_bytes"};
  header.base_json = "{}";
  ResultTable table(header);
  ResultLine line;
  line.status = "ok";
  line.config = {{"schedule", "\"interleaved-1f1b\""}, {"ranks", "4"}, {"costs.forward", ""}};
  line.metrics = {{"makespan", ""}, {"bubble_ratio", "0.27272727272727271"}, {"peak_bytes", "68719476736"}};
  for (std::uint64_t point = 0; point < 100'000; ++point) {
    line.point = point;
    line.config[2].second = std::to_string(point) + ".5";
    line.metrics[0].second = std::to_string(point) + ".125";
    table.add(line, {});
  }
  table.finish();
  // Per point: number 8, status 1, schedule 4, two keys and three metrics of 8.
  CHECK(table.bytes() < 100'000 * (8 + 1 + 4 + 5 * 8) + 4096);
}

}  // namespace table_test
