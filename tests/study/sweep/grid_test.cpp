#include "study/sweep/grid/grid.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace grid_test {

using namespace pipeloom;
using namespace pipeloom::sweep;

namespace {

const std::string kBase = R"("base": {"schedule": "1f1b", "ranks": 4, "microbatches": 8})";

Grid grid(const std::string& text) {
  return Grid::parse(text, "g.json");
}

/// The grid of kBase and more keys.
Grid with(const std::string& more) {
  return grid("{" + kBase + (more.empty() ? "" : ",\n") + more + "}");
}

std::string error_of(const std::string& text) {
  try {
    (void)grid(text);
  } catch (const InputError& error) {
    return error.line();
  }
  return "accepted";
}

/// The error of kBase and more keys, which stand on line 2.
std::string error_with(const std::string& more) {
  return error_of("{" + kBase + ",\n" + more + "}");
}

std::string text_of(const Grid& grid, const Combination& combination) {
  std::string out;
  for (const Setting& setting : combination.settings)
    out += (out.empty() ? "" : " ") + grid.keys()[setting.key] + "=" + setting.json;
  return out;
}

/// What every combination that holds sets: "ranks=4 chunks=2".
std::vector<std::string> points(const Grid& grid) {
  std::vector<std::string> out;
  Combination combination;
  for (std::uint64_t i = 0; i < grid.combinations(); ++i)
    if (grid.combination(i, combination)) out.push_back(text_of(grid, combination));
  return out;
}

std::vector<std::string> values(const std::string& range, const std::string& key = "costs.forward") {
  std::vector<std::string> out;
  for (const std::string& text : points(with("\"axes\": {\"" + key + "\": " + range + "}")))
    out.push_back(text.substr(text.find('=') + 1));
  return out;
}

std::vector<std::string> keys_of_points(const Grid& grid) {
  std::vector<std::string> out;
  Combination combination;
  for (std::uint64_t i = 0; i < grid.combinations(); ++i)
    if (grid.combination(i, combination)) out.push_back(grid.key(combination));
  return out;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("axes make a product, the last one fastest") {
  const Grid two = with(R"("axes": {"schedule": ["1f1b", "zb-h1"], "ranks": [4, 8]})");
  CHECK(two.keys() == Texts{"schedule", "ranks"});
  CHECK(two.combinations() == 4);
  CHECK_FALSE(two.has_conditions());
  CHECK(points(two) == Texts{R"(schedule="1f1b" ranks=4)", R"(schedule="1f1b" ranks=8)",
                             R"(schedule="zb-h1" ranks=4)", R"(schedule="zb-h1" ranks=8)"});
}

TEST_CASE("a grid without axes is its base") {
  CHECK(points(with("")) == Texts{""});
  CHECK(points(with(R"("axes": {})")) == Texts{""});
  CHECK(with("").axes_json() == "[]");
}

TEST_CASE("ranges are exact decimals") {
  CHECK(values(R"({"from": 1, "to": 2, "steps": 11})") ==
        Texts{"1", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7", "1.8", "1.9", "2"});
  CHECK(values(R"({"from": 0.1, "to": 0.5, "step": 0.1})") == Texts{"0.1", "0.2", "0.3", "0.4", "0.5"});
  CHECK(values(R"({"from": 0, "to": 1, "step": 0.3})") == Texts{"0", "0.3", "0.6", "0.9"});
  CHECK(values(R"({"from": 3, "to": 1, "step": -1})") == Texts{"3", "2", "1"});
  CHECK(values(R"({"from": 0, "to": 1, "steps": 4})") == Texts{"0", "0.333333333", "0.666666667", "1"});
  CHECK(values(R"({"from": 1, "to": 0, "steps": 3})") == Texts{"1", "0.5", "0"});
  CHECK(values(R"({"from": 1, "to": 100, "factor": 4})") == Texts{"1", "4", "16", "64"});
  CHECK(values(R"({"from": 8, "to": 1, "factor": 0.5})") == Texts{"8", "4", "2", "1"});
  CHECK(values(R"({"from": 4, "to": 4, "step": 1})") == Texts{"4"});
  CHECK(values(R"({"from": 4, "to": 4, "steps": 1})") == Texts{"4"});
  // More bytes than 2^53.
  CHECK(values(R"({"from": 9007199254740992, "to": 9007199254740993, "step": 1})", "memory.limit_bytes") ==
        Texts{"9007199254740992", "9007199254740993"});
}

TEST_CASE("lists hold whatever a key takes, with plain numbers") {
  CHECK(values("[1.50, 15e-1, [2.0, 2], {\"default\": 1, \"stages\": {\"3\": 2.50}}]") ==
        Texts{"1.5", "1.5", "[2,2]", R"({"default":1,"stages":{"3":2.5}})"});
  CHECK(values("[\"sum\", {\"factor\": 0.8}, 2]", "costs.overlapped") ==
        Texts{"\"sum\"", "{\"factor\":0.8}", "2"});
  CHECK(values("[null, 4]", "memory.limit_bytes") == Texts{"null", "4"});
  CHECK(values("[true, false]", "options.forward_only") == Texts{"true", "false"});
}

TEST_CASE("an array of axes is a union of products") {
  const Grid both = with(R"("axes": [{"ranks": [2, 4]}, {"chunks": [1], "ranks": [8]}, {}])");
  CHECK(both.keys() == Texts{"ranks", "chunks"});
  CHECK(points(both) == Texts{"ranks=2", "ranks=4", "ranks=8 chunks=1", ""});
  CHECK(both.axes_json() == R"([[{"key": "ranks", "points": 2}], [{"key": "chunks", "points": 1}, )"
                            R"({"key": "ranks", "points": 1}], []])");
}

TEST_CASE("a zip is one axis and comes after the others") {
  const Grid zipped = with(
      R"("axes": {"schedule": ["1f1b", "gpipe"]}, "zip": [{"ranks": [4, 8], "microbatches": [32, 64]}])");
  CHECK(points(zipped) ==
        Texts{R"(schedule="1f1b" ranks=4 microbatches=32)", R"(schedule="1f1b" ranks=8 microbatches=64)",
              R"(schedule="gpipe" ranks=4 microbatches=32)", R"(schedule="gpipe" ranks=8 microbatches=64)"});
  CHECK(zipped.axes_json() ==
        R"([{"key": "schedule", "points": 2}, {"keys": ["ranks", "microbatches"], "points": 2}])");
}

TEST_CASE("derived keys may use each other, the base and defaults") {
  CHECK(points(with(R"("axes": {"ranks": [4, 8]}, "derive": {"microbatches": "8*ranks"})")) ==
        Texts{"ranks=4 microbatches=32", "ranks=8 microbatches=64"});
  // chunks needs group_size, which stands behind it: 2 * 3 = 6, 6 + 8 = 14. The latency's default is 0.
  CHECK(
      points(with(R"("axes": {"ranks": [2]}, "derive": {"chunks": "options.group_size + microbatches",
      "options.group_size": "3*ranks + costs.transfer.latency", "schedule": "'zb-h1'",
      "options.forward_only": "ranks == 2", "costs.time_unit": "costs.transfer.model == 'latency' && 'ms' == 'ms'"})")) ==
      Texts{
          R"(ranks=2 chunks=14 options.group_size=6 schedule="zb-h1" options.forward_only=true costs.time_unit=1)"});
}

TEST_CASE("conditions leave combinations out") {
  const Grid some = with(
      R"("axes": {"ranks": [4, 8], "chunks": [1, 2, 3]}, "where": ["ranks*chunks <= 12", "chunks != 2"])");
  CHECK(some.has_conditions());
  CHECK(some.combinations() == 6);
  CHECK(points(some) == Texts{"ranks=4 chunks=1", "ranks=4 chunks=3", "ranks=8 chunks=1"});
  CHECK(points(with(R"("axes": {"ranks": [4, 8]}, "where": "ranks == 8")")) == Texts{"ranks=8"});
}

TEST_CASE("conditions know the chunks that a schedule has by default") {
  // 1f1b has one stage a rank, zbv has two, hanayo two a wave.
  CHECK(points(with(R"("axes": {"schedule": ["1f1b", "zbv", "gpipe-v"]}, "where": ["chunks == 2"])")) ==
        Texts{"schedule=\"zbv\"", "schedule=\"gpipe-v\""});
  CHECK(points(
            with(R"("axes": {"schedule": ["hanayo"], "options.waves": [1, 2]}, "where": ["chunks == 4"])")) ==
        Texts{"schedule=\"hanayo\" options.waves=2"});
}

TEST_CASE("expressions see inside objects that vary as a whole") {
  CHECK(points(with(
            R"("axes": {"costs": [{"forward": 1}, {"forward": 2.5}]}, "where": ["costs.forward > 2"])")) ==
        Texts{R"(costs={"forward":2.5})"});
}

TEST_CASE("places inside tables vary") {
  const Grid places =
      grid(R"({"base": {"schedule": "1f1b", "ranks": 2, "microbatches": 2, "costs": {"backward": [2, 2],
      "forward": {"default": 1, "stages": {}}}}, "axes": {"costs.backward.1": [3, 4], "costs.forward.stages.0": [5]}})");
  Combination combination;
  REQUIRE(places.combination(1, combination));
  const io::Config config = places.config(combination);
  CHECK(config.costs.duration[1]->array == std::vector<std::int64_t>{2'000'000'000, 4'000'000'000});
  CHECK(config.costs.duration[0]->exceptions.front().number == 5'000'000'000);
}

TEST_CASE("keys are normalised") {
  CHECK(with(R"("axes": {"--ranks": [2], "costs.backward-input": [1]}, "derive": {"Microbatches": "Ranks"})")
            .keys() == Texts{"ranks", "costs.backward_input", "microbatches"});
}

TEST_CASE("a configuration is the base with the settings on top") {
  const Grid both =
      with(R"("axes": {"ranks": [2, 6], "costs": [{"forward": 1.5}]}, "derive": {"chunks": "ranks / 2"})");
  Combination combination;
  REQUIRE(both.combination(1, combination));
  const io::Config config = both.config(combination);
  CHECK(config.schedule == "1f1b");
  CHECK(config.ranks == 6);
  CHECK(config.microbatches == 8);
  CHECK(config.chunks == 3);
  CHECK(config.costs.duration[0]->scalar == 1'500'000'000);
  CHECK(both.document(combination).root().canonical_text() ==
        R"({"chunks":3,"costs":{"forward":1.5},"microbatches":8,"ranks":6,"schedule":"1f1b"})");
}

TEST_CASE("an illegal value is the point's error, with its place") {
  const Grid bad = with(R"("axes": {"ranks": [4, 0]})");
  Combination combination;
  REQUIRE(bad.combination(1, combination));
  try {
    (void)bad.config(combination);
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK(error.line() == "g.json:2:23: error: ranks is 0; it must be a whole number from 1 to 1048576");
  }
}

TEST_CASE("base and costs may be files") {
  const auto folder = std::filesystem::temp_directory_path() / "pipeloom_grid_test";
  std::filesystem::create_directories(folder / "costs");
  const auto write = [&](const char* name, const char* text) { std::ofstream(folder / name) << text; };
  write("base.json", R"({"schedule": "1f1b", "ranks": 2, "microbatches": 4, "costs": "costs/a.json"})");
  write("costs/a.json", R"({"forward": 3})");
  write("b.json", R"({"forward": 7})");
  const std::string path = (folder / "grid.json").string();
  write("grid.json", R"({"base": "base.json", "axes": {"costs.backward": [1]}})");
  const Grid single = Grid::read(path);
  CHECK(single.base_json() == R"({"schedule":"1f1b","ranks":2,"microbatches":4,"costs":{"forward":3}})");
  Combination combination;
  REQUIRE(single.combination(0, combination));
  CHECK(single.config(combination).costs.duration[0]->scalar == 3'000'000'000);

  write("grid.json", R"({"base": "base.json", "axes": {"costs": ["costs/a.json", "b.json"]}})");
  const Grid files = Grid::read(path);
  CHECK(points(files) == Texts{"costs=\"costs/a.json\"", "costs=\"b.json\""});
  REQUIRE(files.combination(1, combination));
  CHECK(files.config(combination).costs.duration[0]->scalar == 7'000'000'000);
  const auto keys = keys_of_points(files);
  // Who a point is depends on what the file says, not on its name.
  write("b.json", R"({"forward": 3.0})");
  const Grid changed = Grid::read(path);
  CHECK(changed.hash() != files.hash());
  CHECK(keys_of_points(changed) == Texts{keys[0], keys[0]});

  // A schedule file decides what its points are as well.
  write("grid.json", R"({"base": {"schedule": "custom"}, "axes": {"options.file": ["orders.csv"]}})");
  write("orders.csv", "0F0,0B0\r\n");
  const std::string hash = Grid::read(path).hash();
  write("orders.csv", "0F0,0F1,0B0,0B1\r\n");
  CHECK(Grid::read(path).hash() != hash);

  // So does a table of costs: in the base, in a costs file that an axis names, and as an axis of its own.
  for (const char* grid : {R"({"base": {"costs": {"table": "rows.csv"}}, "axes": {"ranks": [2]}})",
                           R"({"base": {}, "axes": {"costs": ["with_table.json"]}})",
                           R"({"base": {}, "axes": {"costs.table": ["rows.csv"]}})"}) {
    INFO(grid);
    write("with_table.json", R"({"table": "rows.csv"})");
    write("grid.json", grid);
    write("rows.csv", "kind,time\nF,5\n");
    const std::string five = Grid::read(path).hash();
    write("rows.csv", "kind,time\nF,50\n");
    CHECK(Grid::read(path).hash() != five);
  }

  write("grid.json", R"({"base": "none.json"})");
  CHECK_THROWS_AS(Grid::read(path), InputError);
  write("grid.json", R"({"axes": {"costs": ["none.json"]}})");
  CHECK_THROWS_AS(Grid::read(path), InputError);
  std::filesystem::remove_all(folder);
}

TEST_CASE("metrics are names of the table") {
  CHECK(with(R"("metrics": ["makespan", "bubble_ratio"])").metrics() == Texts{"makespan", "bubble_ratio"});
  CHECK(with("").metrics().empty());
  CHECK(error_with(R"("metrics": ["makspan"])").find("g.json:2:13: error: unknown metric 'makspan'") == 0);
  CHECK(error_with(R"("metrics": ["makespan", "makespan"])").find("there twice") != std::string::npos);
}

TEST_CASE("the base is part of the header, as it stands") {
  CHECK(with("").base_json() == R"({"schedule":"1f1b","ranks":4,"microbatches":8})");
  CHECK(grid(R"({"axes": {"ranks": [1]}})").base_json() == "{}");
}

}  // namespace grid_test
