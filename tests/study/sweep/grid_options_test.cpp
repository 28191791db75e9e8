// Grids of options, and grids that several threads read.

#include <string>
#include <thread>
#include <vector>

#include "study/sweep/grid/grid.hpp"
#include "support/catch.hpp"

namespace grid_options_test {

using namespace pipeloom;
using namespace pipeloom::sweep;

namespace {

using Texts = std::vector<std::string>;

io::Document base() {
  return io::Document::parse(R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8})", "base.json");
}

/// The values of one axis, or the error.
Texts values(const std::string& axis) {
  Texts out;
  try {
    const Grid grid = Grid::of_options(base(), {axis});
    Combination combination;
    for (std::uint64_t i = 0; i < grid.combinations(); ++i) {
      REQUIRE(grid.combination(i, combination));
      out.push_back(combination.settings.front().json);
    }
  } catch (const InputError& error) {
    out = {error.line()};
  }
  return out;
}

}  // namespace

TEST_CASE("an axis is a list, a range, or JSON") {
  CHECK(values("ranks=4,8,16") == Texts{"4", "8", "16"});
  CHECK(values("ranks=4") == Texts{"4"});
  CHECK(values("--ranks=[4, 8]") == Texts{"4", "8"});
  CHECK(values("ranks=4..7") == Texts{"4", "5", "6", "7"});
  CHECK(values("ranks=4..32:8") == Texts{"4", "12", "20", "28"});
  CHECK(values("costs.forward=0.5..1.5:0.25") == Texts{"0.5", "0.75", "1", "1.25", "1.5"});
  CHECK(values("costs.forward=2..1:-0.5") == Texts{"2", "1.5", "1"});
  CHECK(values(R"(costs.forward={"from": 1, "to": 8, "factor": 2})") == Texts{"1", "2", "4", "8"});
  CHECK(values("schedule=1f1b,zb-h1") == Texts{"\"1f1b\"", "\"zb-h1\""});
  CHECK(values("schedule=\"gpipe\",zb1p") == Texts{"\"gpipe\"", "\"zb1p\""});
  CHECK(values("memory.limit_bytes=null,100") == Texts{"null", "100"});
  CHECK(values("options.forward_only=true,false") == Texts{"true", "false"});
  CHECK(values("costs.forward=[1,2],[3,4]") == Texts{"[1,2]", "[3,4]"});
  CHECK(values(R"(costs={"forward": 1},{"forward": 2})") == Texts{R"({"forward":1})", R"({"forward":2})"});
}

TEST_CASE("what is no axis is refused with the option's name") {
  CHECK(values("ranks") ==
        Texts{"--axis: error: 'ranks' has no '='; write KEY=VALUES, such as ranks=4,8 or ranks=4..32:4"});
  CHECK(values("rank=4").front().find("--axis rank: error: unknown configuration key 'rank'") == 0);
  CHECK(values("ranks=four").front().find("ranks is the string 'four'; it must be a number") !=
        std::string::npos);
  CHECK(values("ranks=").front().find("ranks is the string ''") != std::string::npos);
  CHECK(values("ranks=1..8:0").front().find("has step 0") != std::string::npos);
  CHECK(values("ranks=8..1").front().find("is empty") != std::string::npos);
  CHECK_THROWS_WITH(Grid::of_options(base(), {"ranks=4", "ranks=8"}),
                    "ranks is set twice; let one axis, zip or derived key set it");
}

TEST_CASE("axes of options are a product, the last one fastest, on top of the base") {
  const Grid grid = Grid::of_options(base(), {"ranks=2,4", "schedule=gpipe,zb-h1"});
  CHECK(grid.keys() == Texts{"ranks", "schedule"});
  CHECK(grid.combinations() == 4);
  CHECK(grid.base_json() == R"({"schedule":"1f1b","ranks":4,"microbatches":8})");
  Combination combination;
  REQUIRE(grid.combination(1, combination));
  const io::Config config = grid.config(combination);
  CHECK(config.schedule == "zb-h1");
  CHECK(config.ranks == 2);
  CHECK(config.microbatches == 8);
  // The same grid as a file has the same points.
  const Grid file = Grid::parse(
      R"({"base": {"schedule": "1f1b", "ranks": 4, "microbatches": 8}, "axes": {"ranks": [2, 4], "schedule": ["gpipe", "zb-h1"]}})",
      "g.json");
  CHECK(file.hash() == grid.hash());
  Combination same;
  REQUIRE(file.combination(1, same));
  CHECK(file.key(same) == grid.key(combination));
}

TEST_CASE("several threads read one grid") {
  const Grid grid = Grid::parse(
      R"({"base": {"ranks": 4, "costs": {"backward": 2}}, "axes": {"schedule": ["1f1b", "zb-h1"], "costs.forward":
          {"from": 1, "to": 2, "steps": 11}, "chunks": [1, 2, 3]}, "derive": {"microbatches": "ranks * chunks"}, "where": ["chunks != 2"],
          "sample": {"method": "random", "points": 60, "seed": 1}})",
      "g.json");
  const auto walk = [&grid](Texts& out) {
    Combination combination;
    for (std::uint64_t i = 0; i < grid.combinations(); ++i)
      if (grid.combination(i, combination))
        out.push_back(grid.key(combination) + std::to_string(grid.config(combination).microbatches) +
                      grid.document(combination).root().canonical_text());
  };
  std::vector<Texts> results(4);
  std::vector<std::thread> threads;
  for (Texts& result : results) threads.emplace_back([&walk, &result] { walk(result); });
  for (std::thread& thread : threads) thread.join();
  CHECK_FALSE(results[0].empty());
  for (const Texts& result : results) CHECK(result == results[0]);
}

}  // namespace grid_options_test
