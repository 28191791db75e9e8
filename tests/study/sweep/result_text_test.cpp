#include "study/text/result_text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "support/catch.hpp"
#include "support/sweep_files.hpp"

namespace result_text_test {

using namespace pipeloom;
using namespace pipeloom::sweep;

namespace {

bool is_value(std::string_view text) {
  LineScanner scanner(text);
  return scanner.value() && scanner.at_end();
}

std::string cell(std::string_view text) {
  std::string out;
  append_cell(out, text);
  return out;
}

}  // namespace

TEST_CASE("JSON values are told from what is none") {
  for (const char* text :
       {"0", "-1", "12.50", "1e9", "2E-3", "true", "false", "null", R"("")", R"("a\"b\\\u00e9\n")", "[]",
        "{}", R"([1, [2], {"a": 3}])", R"({"a":{"b":[]},"c":null})",
        "\"gr\xC3\xB6\xC3\x9F"
        "er\""})
    CHECK(is_value(text));
  for (const char* text : {"",      "01",       "+1",        ".5",           "1.",
                           "1e",    "-",        "tru",       "nul",          R"(")",
                           R"("a)", R"("\x")",  R"("\u12")", R"("\ud800")",  "[1,]",
                           "[1 2]", R"({"a"})", R"({a:1})",  R"({"a":1,})",  "{",
                           "[",     "\"\n\"",   "\"\xFF\"",  "\"\xC0\xAF\"", "\"\xED\xA0\x80\"",
                           "1 "})
    CHECK_FALSE(is_value(text));
  CHECK(is_value(std::string(64, '[') + std::string(64, ']')));
  CHECK_FALSE(is_value(std::string(100, '[') + std::string(100, ']')));
}

TEST_CASE("Whole numbers of results have one spelling") {
  const auto number = [](std::string_view text) { return LineScanner(text).whole_number(); };
  CHECK(number("0") == 0);
  CHECK(number("18446744073709551615") == 18446744073709551615U);
  CHECK_FALSE(number("18446744073709551616"));
  CHECK_FALSE(number("017"));
  CHECK_FALSE(number("-1"));
  CHECK_FALSE(number(""));
}

TEST_CASE("CSV cells come back as they were") {
  CHECK(cell("zb-h1") == "zb-h1");
  CHECK(cell("a,b") == R"("a,b")");
  CHECK(cell(R"(say "no")") == R"("say ""no""")");
  const std::vector<std::string> texts = {"", "a,b", R"("quoted")", R"(")", "plain", R"([1,2])"};
  std::string line;
  for (std::size_t i = 0; i < texts.size(); ++i) append_cell(line += i > 0 ? "," : "", texts[i]);
  CHECK(cells_of(line) == texts);
  CHECK_FALSE(cells_of(R"(a,"b)"));
  CHECK_FALSE(cells_of(R"(a,b"c")"));
  CHECK_FALSE(cells_of(R"("a"b,c)"));
}

TEST_CASE("Values keep their kind in a CSV cell") {
  CHECK(cell_of_json("8") == "8");
  CHECK(cell_of_json(R"("zb-h1")") == "zb-h1");
  CHECK(cell_of_json(R"("8")") == R"("8")");  // a text that reads as a number keeps its quotes
  CHECK(cell_of_json(R"("true")") == R"("true")");
  CHECK(cell_of_json(R"("")") == R"("")");
  for (const char* json : {"8", R"("zb-h1")", R"("8")", R"("")", "true", "null", "[1,2]", R"({"default":2})",
                           R"("a,b")", R"("a\nb")", R"("[")"})
    CHECK(json_of_cell(cell_of_json(json)) == json);
}

TEST_CASE("A cell that a spreadsheet would calculate keeps its quotes") {
  for (const char* json : {R"("=1+1")", R"("+1a")", R"("-a")", R"("@a")"}) {
    CHECK(cell_of_json(json) == json);
    CHECK(json_of_cell(cell_of_json(json)) == json);
  }
  CHECK(cell_of_json("-5") == "-5");  // a number
  CHECK(cell_of_json(R"("a=b")") == "a=b");
}

TEST_CASE("Lines are read from files that end anywhere") {
  const test::Folder folder("lines");
  const std::string path = folder / "text";
  std::string expected = std::string(200'000, 'a') + "\n\nlast";
  test::put(path, expected);
  const int fd = ::open(path.c_str(), O_RDONLY);
  LineSource source(fd, path);
  std::string line;
  REQUIRE(source.next(line));
  CHECK(line.size() == 200'000);
  CHECK(source.offset() == 200'001);
  REQUIRE(source.next(line));
  CHECK(line.empty());
  CHECK(source.ended());
  REQUIRE(source.next(line));
  CHECK(line == "last");
  CHECK_FALSE(source.ended());
  CHECK(source.line_number() == 3);
  CHECK(source.offset() == expected.size());
  CHECK_FALSE(source.next(line));
  ::close(fd);
}

}  // namespace result_text_test
