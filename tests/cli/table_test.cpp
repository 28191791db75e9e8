#include "cli/numbers.hpp"
#include "support/catch.hpp"

namespace table_test {

using namespace pipeloom::cli;

TEST_CASE("columns stand two blanks apart, numbers to the right") {
  Table table({{"rank", Align::Right}, {"stages", Align::Left}, {"busy", Align::Right}});
  table.add_row({"0", "0 7", "24.0"});
  table.add_row({"12", "1", "9.0"});
  CHECK(table.text() ==
        "rank  stages  busy\n"
        "   0  0 7     24.0\n"
        "  12  1        9.0\n");
}

TEST_CASE("no line ends in blanks, and empty titles make no heading") {
  Table table({{"", Align::Left}, {"", Align::Left}});
  table.add_row({"a", "long cell"});
  table.add_row({"bb", ""});
  CHECK(table.text() ==
        "a   long cell\n"
        "bb\n");
}

TEST_CASE("a table without rows is its heading") {
  const Table table({{"a", Align::Left}, {"b", Align::Left}});
  CHECK(table.empty());
  CHECK(table.text() == "a  b\n");
}

TEST_CASE("characters count, not bytes") {
  CHECK(display_width("x\u00d7y") == 3);
  Table table({{"", Align::Left}, {"", Align::Left}});
  table.add_row({"\u00d7\u00d7", "1"});
  table.add_row({"ab", "2"});
  CHECK(table.text() == "\u00d7\u00d7  1\nab  2\n");
}

TEST_CASE("the heading is bold where colour is wanted") {
  Table table({{"a", Align::Left}});
  table.add_row({"1"});
  CHECK(table.text(true) == "\x1b[1ma\x1b[0m\n1\n");
}

TEST_CASE("text wraps between words, each line indented") {
  CHECK(wrapped("one two three four", 11, 2) == "  one two\n  three\n  four\n");
  CHECK(wrapped("one two", 80) == "one two\n");
  CHECK(wrapped("", 80).empty());
  CHECK(wrapped("it is 6.0 % of it", 9) == "it is\n6.0 % of\nit\n");
}

TEST_CASE("a word longer than the width has a line of its own") {
  CHECK(wrapped("a incomprehensibilities b", 8) == "a\nincomprehensibilities\nb\n");
}

}  // namespace table_test
