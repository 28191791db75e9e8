#include "sim/io/json/json_writer.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "support/catch.hpp"

namespace json_writer_test {

using namespace pipeloom;
using namespace pipeloom::io;

namespace {

template <class Write>
std::string report(const Write& write) {
  return written_json(kReportStyle, write);
}

template <class Entry>
std::string in_window(const Entry& value) {
  return written_json(kPackedStyle, [&](JsonWriter& out) { out.value(value); });
}

/// Nesting, empty containers and every kind of value.
void write_sample(JsonWriter& out) {
  out.object().member("name", "a\"b").key("none").object().close();
  out.key("list").array().number(1).array().close().value(true).null().close();
  out.member("last", 2.0).close();
}

}  // namespace

TEST_CASE("json writer: what is said in the order in which it is said") {
  CHECK(report(write_sample) == R"({"name": "a\"b", "none": {}, "list": [1, [], true, null], "last": 2})");
  CHECK(written_json(kPackedStyle, write_sample) ==
        R"({"name":"a\"b","none":{},"list":[1,[],true,null],"last":2.0})");
  CHECK(report([](JsonWriter& out) { out.array().close(); }) == "[]");
  CHECK(report([](JsonWriter& out) { out.text("alone"); }) == "\"alone\"");
}

TEST_CASE("json writer: a line for every entry, two blanks a level") {
  CHECK(written_json(kSettingsStyle, write_sample) ==
        "{\n"
        "  \"name\": \"a\\\"b\",\n"
        "  \"none\": {},\n"
        "  \"list\": [\n"
        "    1,\n"
        "    [],\n"
        "    true,\n"
        "    null\n"
        "  ],\n"
        "  \"last\": 2.0\n"
        "}");
}

TEST_CASE("json writer: two levels of lines, and the inner ones close where they end") {
  constexpr JsonStyle kTwoLevels{JsonSpelling::Window, false, 2, 1, 2};
  CHECK(written_json(kTwoLevels,
                     [](JsonWriter& out) {
                       out.object().key("a").object().member("x", std::vector<int>{1, 2}).member("y", 3);
                       out.close().key("b").array().close().close();
                     }) ==
        "{\n"
        "\"a\": {\n"
        "  \"x\": [1,2],\n"
        "  \"y\": 3},\n"
        "\"b\": []\n"
        "}");
}

TEST_CASE("json writer: lines where they are asked for") {
  CHECK(report([](JsonWriter& out) {
          out.object().line(2).member("a", 1).member("b", 2);
          out.line(2).key("rows").array();
          for (int row = 0; row < 2; ++row) out.line(4).array().number(row).number(row + 1).close();
          out.close(2).line(2).key("none").array().close(2).line(0).close();
        }) ==
        "{\n"
        "  \"a\": 1, \"b\": 2,\n"
        "  \"rows\": [\n"
        "    [0, 1],\n"
        "    [1, 2]\n"
        "  ],\n"
        "  \"none\": []\n"
        "}");
}

TEST_CASE("json writer: containers of the standard library, nothing, times and ops") {
  CHECK(report([](JsonWriter& out) { out.value(std::vector<std::string>{"x", "y"}); }) == R"(["x", "y"])");
  CHECK(report([](JsonWriter& out) { out.value(std::set<int>{3, 1}); }) == "[1, 3]");
  CHECK(report([](JsonWriter& out) {
          out.value(std::map<std::string, bool>{{"b", true}, {"a", false}});
        }) == R"({"a": false, "b": true})");
  CHECK(report([](JsonWriter& out) { out.value(std::optional<int>()); }) == "null");
  CHECK(report([](JsonWriter& out) { out.value(std::optional<int>(7)); }) == "7");
  // One and a half units of time.
  CHECK(report([](JsonWriter& out) { out.ticks(ticks_per(TimeUnit::Unit) * 3 / 2, TimeUnit::Unit); }) ==
        "1.5");
  CHECK(report([](JsonWriter& out) { out.quoted(parse_schedule("0F3").ops()[0]); }) == "\"0F3\"");
}

TEST_CASE("json writer: whole numbers keep every digit, and what is not finite is null") {
  CHECK(in_window(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
  CHECK(in_window(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  for (const double odd : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    CHECK(in_window(odd) == "null");
    CHECK(report([odd](JsonWriter& out) { out.number(odd); }) == "null");
  }
}

TEST_CASE(
    "json writer: a number of a report is as short as can be, one of the window shows that it is no "
    "integer") {
  struct Row {
    double value;
    const char* report;
    const char* window;
  };
  const Row rows[] = {{0, "0", "0.0"},
                      {-0.0, "-0", "-0.0"},
                      {1, "1", "1.0"},
                      {-12, "-12", "-12.0"},
                      {0.25, "0.25", "0.25"},
                      {12.5, "12.5", "12.5"},
                      {100000, "1e+05", "100000.0"},
                      {123456789012345, "123456789012345", "123456789012345.0"},  // 15 digits
                      {1e15, "1e+15", "1e+15"},                                   // 16 digits
                      {0.00012, "0.00012", "0.00012"},                            // three zeros
                      {0.00001, "1e-05", "1e-05"},
                      {1.5e300, "1.5e+300", "1.5e+300"}};
  for (const Row& row : rows) {
    CHECK(report([&](JsonWriter& out) { out.number(row.value); }) == row.report);
    CHECK(in_window(row.value) == row.window);
    CHECK(nlohmann::json(row.value).dump() == row.window);
  }
}

TEST_CASE("json writer: random numbers of the window read back as themselves, in the layout of nlohmann's") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    // Three decimals, as the window rounds, at magnitudes from 1e-3 to 1e17.
    const double value = static_cast<double>(static_cast<std::int64_t>(random()) >> (random() % 60)) / 1000;
    const std::string text = in_window(value);
    CHECK(std::stod(text) == value);
    if (std::abs(value) < 1e12) CHECK(text == nlohmann::json(value).dump());
  }
}

TEST_CASE("json writer: texts") {
  const std::string all = "a\"\\\b\f\n\r\t\x01/\x7f\xc3\xa9";
  CHECK(in_window(all) == nlohmann::json(all).dump());
  CHECK(in_window(all) == "\"a\\\"\\\\\\b\\f\\n\\r\\t\\u0001/\x7f\xc3\xa9\"");
  CHECK(json_string(all) == "\"a\\\"\\\\\\u0008\\u000c\\n\\u000d\\u0009\\u0001/\x7f\xc3\xa9\"");
  // A byte that is not UTF-8, in a text and in a key.
  CHECK(in_window("x\xff") == "\"x\xef\xbf\xbd\"");
  CHECK(report([](JsonWriter& out) { out.object().member("\xff", 1).close(); }) == "{\"\xef\xbf\xbd\": 1}");
}

TEST_CASE("json writer: a tree that was read") {
  const std::string text =
      R"({"b": [1.50, 1e2, -0, 18446744073709551615, 1e-400], "a": {"x": null, "y": false}})";
  const std::optional<Value> tree = read_json(text);
  REQUIRE(tree);
  CHECK(report([&](JsonWriter& out) { out.value(*tree); }) == text);
  CHECK(in_window(*tree) == R"({"b":[1.5,100.0,0,18446744073709551615,0.0],"a":{"x":null,"y":false}})");
  CHECK(in_window(*tree) == nlohmann::ordered_json::parse(text).dump());
  CHECK_FALSE(read_json("{"));
}

}  // namespace json_writer_test
