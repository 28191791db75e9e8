// Grids that are refused, with the place and what to do.

#include <string>
#include <vector>

#include "study/sweep/grid/grid.hpp"
#include "study/text/expression.hpp"
#include "support/catch.hpp"

namespace grid_refusal_test {

using namespace pipeloom;
using namespace pipeloom::sweep;

namespace {

std::string error_of(const std::string& text) {
  try {
    (void)Grid::parse(text, "g");
  } catch (const InputError& error) {
    return error.line();
  }
  return "accepted";
}

/// The error of a usual base and more keys, which stand on line 2.
std::string error_with(const std::string& more) {
  return error_of("{\"base\": {\"schedule\": \"1f1b\", \"ranks\": 4, \"microbatches\": 8},\n" + more + "}");
}

std::string axis(const std::string& key, const std::string& values) {
  return error_with("\"axes\": {\"" + key + "\": " + values + "}");
}

}  // namespace

TEST_CASE("products beyond the limit are refused with their size") {
  std::string axes;
  for (const char* key :
       {"ranks", "microbatches", "chunks", "costs.forward", "costs.backward", "costs.transfer.latency"})
    axes +=
        (axes.empty() ? "" : ", ") + ("\"" + std::string(key) + R"(": {"from": 1, "to": 1000, "step": 1})");
  // Six axes of 1000 values: 1e18.
  CHECK(error_with("\"axes\": {" + axes + "}") ==
        "g: error: the grid has 1000000000000000000 combinations; at most 100000000 are allowed: give fewer "
        "values, "
        "\"sample\" some, or raise the limit (--max-points)");
  axes += R"(, "memory.limit_bytes": {"from": 1, "to": 1000, "step": 1})";
  CHECK(error_with("\"axes\": {" + axes + "}") ==
        "g: error: the grid has more than 1.8e19 combinations; at most 100000000 are allowed: give fewer "
        "values");
  CHECK(axis("memory.limit_bytes", R"({"from": 0, "to": 9e18, "step": 0.000000001})") ==
        "g:2:32: error: the range of memory.limit_bytes has more than 9.2e18 values; give fewer");
  // Each product within 64 bits, the sum of them not.
  std::string products;
  for (int i = 0; i < 3; ++i)
    products += (i == 0 ? "" : ", ") +
                std::string(R"({"costs.forward": {"from": 0, "to": 9e9, "step": 0.000000001}})");
  CHECK(error_with("\"axes\": [" + products + "]").find("the grid has more than 1.8e19 combinations") !=
        std::string::npos);
  CHECK(error_with(R"("axes": {"costs.forward": {"from": 1, "to": 1e18, "steps": 1000000000000000000}})")
            .find("the grid has 1000000000000000000 combinations") != std::string::npos);
}

TEST_CASE("a sample of a product that is too large is none") {
  const Grid some = Grid::parse(
      R"({"base": {}, "axes": {"costs.forward": {"from": 1, "to": 1e18, "steps": 1000000000000000000}},
          "sample": {"method": "random", "points": 1000, "seed": 1}})",
      "g");
  CHECK(some.combinations() == 1000);
  GridLimits limits;
  limits.max_points = 10;
  CHECK_THROWS_AS(Grid::parse(R"({"axes": {"ranks": {"from": 1, "to": 11, "step": 1}}})", "g", limits),
                  InputError);
  CHECK(Grid::parse(R"({"axes": {"ranks": {"from": 1, "to": 10, "step": 1}}})", "g", limits).combinations() ==
        10);
}

TEST_CASE("ranges that are none are refused") {
  CHECK(axis("ranks", R"({"from": 1, "to": 4, "step": 0})") ==
        "g:2:19: error: the range of ranks has step 0 and never ends; give another step");
  CHECK(axis("ranks", R"({"from": 1, "to": 4, "step": -1})") ==
        "g:2:19: error: the range of ranks is empty: step -1 leads from 1 away from 4");
  CHECK(axis("ranks", R"({"from": 1, "to": 4, "factor": -2})") ==
        "g:2:19: error: the range of ranks has factor -2; it must be above 0 and not 1");
  CHECK(axis("ranks", R"({"from": 1, "to": 4, "factor": 1})").find("has factor 1;") != std::string::npos);
  CHECK(axis("ranks", R"({"from": 0, "to": 4, "factor": 2})").find("must begin above 0") !=
        std::string::npos);
  CHECK(axis("ranks", R"({"from": 4, "to": 1, "factor": 2})").find("is empty: factor 2 leads") !=
        std::string::npos);
  CHECK(axis("costs.forward", R"({"from": 1, "to": 9e9, "factor": 1.000000001})")
            .find("more than 100000 values") != std::string::npos);
  CHECK(axis("costs.forward", R"({"from": 0.000000001, "to": 1, "factor": 1.1})").find("changes nothing") !=
        std::string::npos);
  CHECK(axis("ranks", R"({"from": 1, "to": 4})").find("needs one of \"step\", \"steps\" and \"factor\"") !=
        std::string::npos);
  CHECK(axis("ranks", R"({"from": 1, "to": 4, "step": 1, "steps": 2})").find("needs one of") !=
        std::string::npos);
  CHECK(axis("ranks", R"({"to": 4, "step": 1})").find("lacks \"from\"") != std::string::npos);
  CHECK(axis("ranks", R"({"from": "1", "to": 4, "step": 1})").find("\"from\" of ranks is the string '1'") !=
        std::string::npos);
  CHECK(axis("ranks", R"({"from": 1, "to": 4, "stp": 1})").find("unknown key of a range of ranks 'stp'") !=
        std::string::npos);
  CHECK(axis("ranks", R"({"from": 1, "to": 4, "steps": 3})") ==
        "g:2:19: error: the range of ranks gives 2.5, but ranks takes whole numbers; choose steps so that "
        "they are");
  CHECK(axis("ranks", R"({"from": 1, "to": 4, "step": 0.5})")
            .find("gives 1.5, but ranks takes whole numbers") != std::string::npos);
  CHECK(axis("ranks", R"({"from": 1, "to": 4, "factor": 1.5})").find("gives 1.5") != std::string::npos);
  CHECK(axis("ranks", R"({"from": 1, "to": 4, "steps": 1})").find("one value but two ends") !=
        std::string::npos);
  CHECK(axis("ranks", R"({"from": 4, "to": 4, "steps": 2})").find("same number at both ends") !=
        std::string::npos);
  CHECK(axis("ranks", R"({"from": 1, "to": 4, "steps": 0})").find("has 0 steps") != std::string::npos);
  CHECK(axis("costs.forward", R"({"from": 0, "to": 0.000000001, "steps": 3})")
            .find("closer than nine decimals") != std::string::npos);
  CHECK(axis("costs.forward", R"({"from": 0, "to": 1e-12, "steps": 3})").find("at most nine decimals") !=
        std::string::npos);
  CHECK(axis("schedule", R"({"from": 0, "to": 1, "steps": 3})").find("has no ranges") != std::string::npos);
}

TEST_CASE("NaN, infinities and what else is no JSON are refused where they stand") {
  CHECK(axis("ranks", "[NaN]").find("g:2:20: error: this is not JSON") == 0);
  CHECK(axis("ranks", "[Infinity]").find("g:2:20: error: this is not JSON") == 0);
  CHECK(axis("costs.forward", "[1e999]").find("error: this is not JSON") != std::string::npos);
  CHECK(axis("costs.forward", "[1e300]").find("has more digits than any time or size") != std::string::npos);
  CHECK(axis("costs.forward", "[\"NaN\"]").find("costs.forward is the string 'NaN'") != std::string::npos);
  CHECK(error_with(R"("axes": {"ranks": [1]}, "axes": {})").find("the key 'axes' appears twice") !=
        std::string::npos);
  CHECK(error_of("[]").find("a grid is an array of 0; it must be an object") != std::string::npos);
}

TEST_CASE("unknown names are refused with the nearest") {
  CHECK(error_with(R"("axis": {})").find("unknown key of a grid 'axis'") != std::string::npos);
  CHECK(axis("rank", "[1]").find("g:2:10: error: unknown configuration key 'rank'; did you mean 'ranks'?") ==
        0);
  CHECK(axis("group_size", "[1]") ==
        "g:2:10: error: unknown configuration key 'group_size'; did you mean 'options.group_size'?");
  CHECK(axis("costs.forwad", "[1]").find("unknown key of costs 'forwad'") != std::string::npos);
  CHECK(axis("costs.transfer.lat", "[1]").find("unknown key of costs.transfer 'lat'") != std::string::npos);
  CHECK(axis("ranks.3", "[1]").find("g:2:10: error: unknown configuration key") == 0);
  CHECK(axis("costs.forward.stages.03", "[1]").find("unknown key of costs") != std::string::npos);
  CHECK(axis("", "[1]").find("unknown configuration key ''") != std::string::npos);
  CHECK(axis("costs.", "[1]").find("unknown key of costs ''") != std::string::npos);
  CHECK(axis("schedule", R"(["1f2b"])").find("g:2:23: error: unknown schedule '1f2b'") == 0);
  CHECK(axis("costs.time_unit", R"(["msec"])").find("unknown costs.time_unit 'msec'") != std::string::npos);
  CHECK(axis("costs", R"([{"forwards": 1}])").find("unknown key of costs 'forwards'") != std::string::npos);
  CHECK(error_of(R"({"base": {"rnks": 4}})").find("g:1:11: error: unknown configuration key 'rnks'") == 0);
  CHECK(error_with(R"("where": ["rnks > 4"])").find("g:2:11: error: unknown configuration key 'rnks'") == 0);
  CHECK(error_with(R"("sample": {"method": "sobol", "points": 1, "seed": 1})")
            .find("unknown sampling method") != std::string::npos);
}

TEST_CASE("wrong types are refused") {
  CHECK(axis("ranks", "4").find("g:2:19: error: the axis ranks is 4; it must be a list of values") == 0);
  CHECK(axis("ranks", "[]").find("the axis ranks is an array of 0") != std::string::npos);
  CHECK(axis("ranks", "[\"four\"]") == "g:2:20: error: ranks is the string 'four'; it must be a number");
  CHECK(axis("ranks", "[[4]]").find("ranks is an array of 1; it must be a number") != std::string::npos);
  CHECK(axis("options.forward_only", "[1]").find("it must be true or false") != std::string::npos);
  CHECK(axis("costs.backward.3", "[\"a\"]").find("costs.backward.3 is the string 'a'; it must be a number") !=
        std::string::npos);
  CHECK(error_with("\"axes\": 3").find("it must be an object") != std::string::npos);
  CHECK(error_with("\"axes\": []").find("\"axes\" is an array of 0") != std::string::npos);
  CHECK(error_with("\"zip\": {}").find("\"zip\" is an object; it must be an array") != std::string::npos);
  CHECK(error_with("\"zip\": [{}]").find("this zip is an object; it must be an object with keys") !=
        std::string::npos);
  CHECK(
      error_with("\"derive\": {\"chunks\": 1}").find("the expression of chunks is 1; it must be a string") !=
      std::string::npos);
  CHECK(error_with("\"derive\": {\"costs\": \"1\"}").find("costs cannot be derived") != std::string::npos);
  CHECK(error_with("\"where\": [1]").find("it must be a string") != std::string::npos);
  CHECK(error_with("\"sample\": {\"method\": \"lhs\"}").find("\"sample\" lacks \"points\"") !=
        std::string::npos);
  CHECK(error_with("\"sample\": {\"points\": 0}").find("a whole number of 1 or more") != std::string::npos);
  CHECK(error_with("\"sample\": {\"points\": 1.5}").find("a whole number of 1 or more") != std::string::npos);
  CHECK(error_with("\"sample\": {\"points\": 2}")
            .find("a sample of 2 points is more than the 1 combinations") != std::string::npos);
  CHECK(error_of(R"({"base": 3})").find("\"base\" (or a file's name) is 3") != std::string::npos);
  CHECK(error_of(R"({"base": {"orders": []}})").find("this is a schedule file") != std::string::npos);
}

TEST_CASE("a zip's lists are of one length") {
  CHECK(error_with(R"("zip": [{"ranks": [4, 8], "microbatches": [32]}])") ==
        "g:2:43: error: a zip of unequal lengths: ranks has 2 values, microbatches has 1; give every key as "
        "many");
}

TEST_CASE("a key is set once") {
  const char* twice = "ranks is set twice; let one axis, zip or derived key set it";
  CHECK(error_with(R"("axes": {"ranks": [4], "--ranks": [8]})").find(twice) != std::string::npos);
  CHECK(error_with(R"("axes": {"ranks": [4]}, "zip": [{"ranks": [8]}])").find(twice) != std::string::npos);
  CHECK(error_with(R"("zip": [{"ranks": [4]}, {"ranks": [8]}])").find(twice) != std::string::npos);
  CHECK(error_with(R"("axes": {"ranks": [4]}, "derive": {"ranks": "8"})").find(twice) != std::string::npos);
  CHECK(error_with(R"("axes": [{"chunks": [1]}, {"ranks": [4]}], "derive": {"ranks": "8"})").find(twice) !=
        std::string::npos);
  const char* part = "costs and costs.forward are both set, but one is a part of the other";
  CHECK(error_with(R"("axes": {"costs": [{}], "costs.forward": [8]})").find(part) != std::string::npos);
  CHECK(error_with(R"("axes": {"costs.forward": [8], "costs.backward": [1]}, "zip": [{"costs": [{}]}])")
            .find("costs and costs.backward are both set") != std::string::npos);
  CHECK(error_with(R"("axes": {"costs.backward_input": [8], "costs.backward": [1], "costs.backward.3": [1]})")
            .find("costs.backward and costs.backward.3 are both set") != std::string::npos);
  CHECK(error_with(R"("axes": [{"costs": [{}]}, {"costs.forward": [8]}], "zip": [{"ranks": [2]}])") ==
        "accepted");
}

TEST_CASE("keys that the base cannot hold are refused at once") {
  CHECK(error_of(R"({"base": {"costs": {"backward": 2}}, "axes": {"costs.backward.3": [1]}})") ==
        "g:1:67: error: costs.backward.3 cannot be set on top of the base: cannot set '3' inside 2; only "
        "objects and "
        "arrays have parts");
  CHECK(error_of(R"({"base": {"costs": {"backward": [2, 2]}}, "derive": {"costs.backward.3": "1"}})")
            .find("'3' is no place in an array of 2") != std::string::npos);
}

TEST_CASE("derived keys that form a cycle are refused, the cycle named") {
  CHECK(
      error_with(R"("derive": {"ranks": "2*ranks"})") ==
      "g:2:21: error: derived keys form a cycle: ranks -> ranks; each may use only keys that do not need it");
  CHECK(
      error_with(
          R"("derive": {"options.waves": "ranks", "ranks": "microbatches + 1", "microbatches": "chunks", "chunks": "ranks"})")
          .find("a cycle: ranks -> microbatches -> chunks -> ranks;") != std::string::npos);
  // The default of chunks depends on the schedule.
  CHECK(error_with(R"("derive": {"microbatches": "chunks"})").find("a cycle: microbatches -> microbatches") !=
        std::string::npos);
}

TEST_CASE("expressions need values") {
  CHECK(error_with(R"("where": ["options.group_size == 2"])") ==
        "g:2:11: error: an expression uses options.group_size, which neither varies nor stands in the base, "
        "and its "
        "default is no plain number or text (ranks, or the alias's rule); set it in the base or an axis");
  CHECK(error_of(R"({"base": {}, "where": ["ranks == 2"]})").find("(it is required)") != std::string::npos);
  CHECK(error_of(R"({"base": {"costs": {"forward": [1, 2]}}, "where": ["costs.forward == 2"]})")
            .find("costs.forward is an array of 2 in the base") != std::string::npos);
  const Grid grid = Grid::parse(
      R"({"base": {}, "axes": {"costs.forward": [1, [1, 2]], "ranks": [2, 0]}, "where": ["12 / ranks > costs.forward"]})",
      "g");
  Combination combination;
  CHECK(grid.combination(0, combination));
  try {
    (void)grid.combination(1, combination);
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK(error.line() ==
          "g:1:81: error: expression '12 / ranks > costs.forward': 12 / 0 has no value; ask first, "
          "as in x != 0 && 1 / x < 2, in combination 1 (costs.forward = 1, ranks = 0)");
  }
  CHECK_THROWS_AS(grid.combination(2, combination), InputError);
  CHECK_THROWS_AS(grid.combination(4, combination), InternalError);
}

TEST_CASE("hostile expressions are refused at once") {
  CHECK(error_with("\"where\": [\"" + std::string(4096, ' ') + "1\"]")
            .find("has 4097 characters; at most 4096") != std::string::npos);
  CHECK(error_with("\"where\": [\"" + std::string(65, '(') + "1" + std::string(65, ')') + "\"]")
            .find("64 deep") != std::string::npos);
  const auto many = [](int count, const std::string& begin, const std::string& end) {
    std::string out;
    for (int i = 0; i < count; ++i) out += (i == 0 ? "" : ", ") + begin + std::to_string(i) + end;
    return out;
  };
  CHECK(error_with("\"derive\": {" + many(1001, "\"costs.forward.", "\": \"1\"") + "}")
            .find("1001 derived keys; at most 1000 are allowed") != std::string::npos);
  CHECK(error_with("\"where\": [" + many(257, "\"costs.forward.", "\"") + "]").find("more than 256 keys") !=
        std::string::npos);
  CHECK(
      error_with("\"axes\": {" + many(65, "\"costs.forward.", "\": [1]") + "}").find("65 axes; at most 64") !=
      std::string::npos);
  CHECK(error_with("\"zip\": [{" + many(257, "\"costs.forward.", "\": [1]") + "}]")
            .find("257 keys in one product; at most 256") != std::string::npos);
  CHECK(error_with("\"axes\": [" + many(1001, "{\"ranks\": [1", "]}") + "]")
            .find("1001 products of axes; at most 1000") != std::string::npos);
}

}  // namespace grid_refusal_test
