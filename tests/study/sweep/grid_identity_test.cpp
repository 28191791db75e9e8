// Who points and grids are: keys and hashes.

#include <set>
#include <string>
#include <vector>

#include "study/sweep/grid/grid.hpp"
#include "support/catch.hpp"

namespace grid_identity_test {

using namespace pipeloom;
using namespace pipeloom::sweep;

namespace {

const std::string kBase = R"("base": {"schedule": "1f1b", "ranks": 4, "microbatches": 8})";

Grid grid(const std::string& text) {
  return Grid::parse(text, "g.json");
}

/// The grid of kBase and more keys.
Grid with(const std::string& more) {
  return grid("{" + kBase + ",\n" + more + "}");
}

/// The key of a grid that has one point.
std::string only_key(const std::string& text) {
  const Grid one = grid(text);
  REQUIRE(one.combinations() == 1);
  Combination combination;
  REQUIRE(one.combination(0, combination));
  return one.key(combination);
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("equal configurations of different grids have equal keys") {
  const std::string key = only_key("{" + kBase + "}");
  CHECK(key.size() == 16);
  CHECK(only_key(
            R"({"base": {"schedule": "1F1B", "microbatches": 8.0, "costs": {}}, "axes": {"ranks": [4]}})") ==
        key);
  CHECK(only_key(R"({"base": {"ranks": 99, "schedule": "gpipe"},
      "axes": [{"ranks": [4], "schedule": ["1f1b"]}], "derive": {"microbatches": "2*ranks"}})") == key);
  CHECK(only_key(R"({"base": {"schedule": "1f1b"}, "axes": {"microbatches": {"from": 8, "to": 8, "step": 1}},
      "zip": [{"ranks": [4]}]})") == key);
  CHECK(only_key("{" + kBase + R"(, "axes": {"chunks": [1]}})") != key);  // before defaults
  CHECK(only_key("{" + kBase + R"(, "axes": {"ranks": [5]}})") != key);
  const std::string backward = R"({"base": {"schedule": "1f1b", "costs": {"backward": )";
  CHECK(only_key(backward + R"([2, 5]}}})") ==
        only_key(backward + R"([2, 2]}}, "axes": {"costs.backward.1": [5.0]}})"));
  CHECK(only_key(backward + R"([2, 5]}}})") != only_key(backward + R"([5, 2]}}})"));
  CHECK(only_key(
            R"({"base": {"costs": {"backward": 9, "forward": 9}}, "axes": {"costs": [{"forward": 1}]}})") ==
        only_key(R"({"base": {"costs": {"forward": 1}}})"));
}

TEST_CASE("aliases of schedules are one in keys unless they bring defaults") {
  const auto key = [](const std::string& name) {
    return only_key(R"({"base": {}, "axes": {"schedule": [")" + name + "\"]}}");
  };
  CHECK(key("zb1p") == key("zb-h1"));
  CHECK(key("GPipe") == key("gpipe"));
  CHECK(key("interleave") == key("interleaved-1f1b"));
  CHECK(key("interleaved_1f1b") == key("interleaved-1f1b"));
  CHECK(key("Interleaved1F1B") != key("interleaved-1f1b"));
  CHECK(key("Interleaved1F1B") == only_key(R"({"base": {"schedule": "Interleaved1F1B"}})"));
  CHECK(key("Interleaved1F1B") == only_key(R"({"base": {}, "derive": {"schedule": "'Interleaved1F1B'"}})"));
}

TEST_CASE("the hash of a grid depends on everything that decides its points, and on nothing else") {
  const std::string one = with(R"("axes": {"ranks": [4, 8]})").hash();
  CHECK(one.size() == 16);
  CHECK(with(R"("axes":{"--ranks":[4.0,8e0]},"metrics": ["makespan"])").hash() == one);
  const Texts others = {
      R"("axes": {"ranks": [8, 4]})",
      R"("axes": {"chunks": [4, 8]})",
      R"("axes": [{"ranks": [4]}, {"ranks": [8]}])",
      R"("axes": {"ranks": [4, 8]}, "derive": {"chunks": "1"})",
      R"("axes": {"ranks": [4, 8]}, "where": ["1"])",
      R"("axes": {"ranks": [4, 8]}, "sample": {"method": "random", "points": 2, "seed": 1})",
      R"("axes": {"ranks": [4, 8]}, "sample": {"method": "random", "points": 2, "seed": 2})",
      R"("axes": {"ranks": [4, 8]}, "sample": {"method": "lhs", "points": 2, "seed": 1})",
      R"("zip": [{"ranks": [4, 8], "chunks": [1, 1]}])"};
  std::set<std::string> hashes = {one};
  for (const std::string& other : others) hashes.insert(with(other).hash());
  CHECK(hashes.size() == others.size() + 1);
  CHECK(grid(R"({"base": {"schedule": "1f1b", "ranks": 4, "microbatches": 9}, "axes": {"ranks": [4, 8]}})")
            .hash() != one);
}

}  // namespace grid_identity_test
