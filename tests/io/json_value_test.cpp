#include "sim/io/json/json_value.hpp"

#include <string>

#include "support/catch.hpp"

namespace json_value_test {

using namespace pipeloom;
using namespace pipeloom::io;

namespace {

std::string error_of(std::string_view text) {
  try {
    (void)Document::parse(text, "f");
  } catch (const InputError& error) {
    return error.line();
  }
  return "accepted";
}

std::string where(const Value& value) {
  return value.where().text();
}

}  // namespace

TEST_CASE("every value and key knows its line and column") {
  //                         line 1      line 2                    line 3 (after a comment)
  const auto doc = Document::parse(
      "{\"a\": 1,\n \"b\": [true, \"x\\\"]\", null],\n // c: {\n \"d\" : {\"e\": -2.50e3}}", "f.json");
  const Value& root = doc.root();
  CHECK(where(root) == "f.json:1:1");
  CHECK(where(*root.find("a")) == "f.json:1:7");
  CHECK(root.where_key(1).text() == "f.json:2:2");
  const Value& b = *root.find("b");
  CHECK(where(b) == "f.json:2:7");
  CHECK(where(b.items()[0]) == "f.json:2:8");
  CHECK(where(b.items()[1]) == "f.json:2:14");
  CHECK(b.items()[1].text() == "x\"]");
  CHECK(where(b.items()[2]) == "f.json:2:22");
  CHECK(where(*root.find("d")->find("e")) == "f.json:4:14");
}

TEST_CASE("numbers keep their text") {
  const auto doc = Document::parse("[1, 0.1000, -2.50e3, 12345678901234567890123]", "f");
  CHECK(doc.root().items()[0].text() == "1");
  CHECK(doc.root().items()[1].text() == "0.1000");
  CHECK(doc.root().items()[2].text() == "-2.50e3");
  CHECK(doc.root().items()[3].text() == "12345678901234567890123");
}

TEST_CASE("a byte order mark and comments of both kinds are passed over") {
  const auto doc = Document::parse("\xEF\xBB\xBF/* a\n b */ [ // c\n 7 /* d */ ]", "f");
  CHECK(where(doc.root().items()[0]) == "f:3:2");
}

TEST_CASE("what is no JSON gets one line with its place") {
  CHECK(error_of("{\"a\": 1, \"a\": 2}") == "f:1:10: error: the key 'a' appears twice; keep one of them");
  CHECK(error_of(std::string("{}\0x", 4)) ==
        "f:1:3: error: a NUL byte; this is not a text file: give JSON in UTF-8");
  CHECK(error_of(std::string(65, '[')) ==
        "f:1:65: error: nested deeper than the 64 levels that are read; write it flatter");
  CHECK(error_of("{\"a\": \n\n 1e999}").substr(0, 30) == "f:3:6: error: this is not JSON");
  for (const char* bad : {"", " ", "{", "[1,]", "{\"a\"}", "nul", "\"\xFF\"", "1 2", "{a: 1}", "[1", "'x'",
                          "NaN", "/*", "[01]", "\"\n\""}) {
    const std::string line = error_of(bad);
    INFO(bad << " -> " << line);
    CHECK(line.substr(0, 2) == "f:");
    CHECK(line.find("this is not JSON: ") != std::string::npos);
    CHECK(line.find('\n') == std::string::npos);
  }
}

TEST_CASE("64 levels are allowed") {
  CHECK_NOTHROW(Document::parse(std::string(64, '[') + std::string(64, ']'), "f"));
}

TEST_CASE("Option --set makes objects on the way and replaces values") {
  Document doc;
  doc.set_option("costs.forward=1.50");
  doc.set_option("costs.time_unit=ms");
  doc.set_option("schedule=1f1b");
  doc.set_option("costs.backward=[2, 3]");
  doc.set_option("costs.backward.1=4");
  CHECK(doc.root().canonical_text() ==
        R"({"costs":{"backward":[2,4],"forward":1.50,"time_unit":"ms"},"schedule":"1f1b"})");
  CHECK(where(*doc.root().find("costs")->find("forward")) == "--set costs.forward");
}

TEST_CASE("Option --set refuses paths that lead nowhere") {
  const auto refusal = [](const std::string& option) {
    auto doc = Document::parse(R"({"n": 3, "a": [1, 2]})", "f");
    try {
      doc.set_option(option);
    } catch (const InputError& error) {
      return error.line();
    }
    return std::string("accepted");
  };
  CHECK(refusal("n") == "--set: error: 'n' has no '='; write PATH=VALUE, such as costs.forward=1.5");
  CHECK(refusal("n.x=1") == "--set n.x: error: cannot set 'x' inside 3; only objects and arrays have parts");
  CHECK(refusal("a.2=1") == "--set a.2: error: '2' is no place in an array of 2; give an index from 0 to 1");
  CHECK(refusal("a.x=1") == "--set a.x: error: 'x' is no place in an array of 2; give an index from 0 to 1");
  CHECK(refusal("=1").substr(0, 26) == "--set : error: '' is no pa");
  CHECK(refusal("a..b=1").find("is no path") != std::string::npos);
}

TEST_CASE("canonical text does not depend on layout or the order of keys") {
  const auto one = Document::parse("{\"b\": [1, {\"y\": null, \"x\": \"\\u0041\\n\"}], \"a\": true}", "f");
  const auto two = Document::parse("{ \"a\":true, // c\n\"b\":[1,{\"x\":\"A\\n\",\"y\":null}] }", "g");
  CHECK(one.root().canonical_text() == R"({"a":true,"b":[1,{"x":"A\n","y":null}]})");
  CHECK(one.root().canonical_text() == two.root().canonical_text());
}

}  // namespace json_value_test
