#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "support/catch.hpp"

namespace pipeloom::printable_test {

TEST_CASE("printable text holds nothing that steers a terminal") {
  CHECK(printable("plain, gr\xC3\xB6\xC3\x9F, \xF0\x9F\x99\x82") ==
        "plain, gr\xC3\xB6\xC3\x9F, \xF0\x9F\x99\x82");
  CHECK(printable("a\nb\tc\rd") == "a?b?c?d");
  CHECK(printable("\x1b[2Ja\x7f") == "?[2Ja?");
  CHECK(printable("\xC2\x9B"
                  "2J") == "?2J");  // CSI as one character
  CHECK(printable("a\xE2\x80\xA8"
                  "b\xE2\x80\xA9") == "a?b?");            // U+2028, U+2029
  CHECK(printable("\xE2\x80\xAEgpj.exe") == "?gpj.exe");  // right-to-left override
}

TEST_CASE("printable text is UTF-8, byte for byte where it was not") {
  CHECK(printable("bad \xFF\xC3 end") == "bad ?? end");
  CHECK(printable("\xC0\xAF") == "??");            // an overlong slash
  CHECK(printable("\xED\xA0\x80") == "???");       // half a surrogate pair
  CHECK(printable("\xF4\x90\x80\x80") == "????");  // beyond U+10FFFF
  CHECK(printable("x\xE2\x80") == "x??");          // cut off
}

TEST_CASE("printable text is no command to a CI server") {
  CHECK(printable("::error::x") == "?:error::x");
  CHECK(printable("  ::error::x") == "  ?:error::x");
  CHECK(printable("std::error") == "std::error");
  CHECK(printable("a ##[error]b ##vso[task.x]") == "a ?#[error]b ?#vso[task.x]");
  CHECK(printable_lines("a\n::error::x\n\x1b\n") == "a\n?:error::x\n?\n");
}

TEST_CASE("shortened text keeps both ends, and characters whole") {
  CHECK(shortened("1234567890", 10) == "1234567890");
  CHECK(shortened("12345678901", 10) == "1234...901");
  // Each ö is two bytes: of seven bytes of room the first half would cut the second one in two, the last half its third but one.
  CHECK(shortened("\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6", 10) == "\xC3\xB6\xC3\xB6...\xC3\xB6");
  CHECK(shortened(std::string(100'000, '\x80'), 80).size() <= 80);
  CHECK(shortened("::" + std::string(100, 'x'), 20).substr(0, 2) == "?:");
}

TEST_CASE("an error's line is printable whatever its file is called and its words are") {
  CHECK(InputError(Where{"\n::error::x", 3, 4}, "a\x1b[2J").line() == "?::error::x:3:4: error: a?[2J");
  const std::string line = InputError(Where{std::string(4000, 'p'), 1, 1}, "x").line();
  CHECK(line.size() < 250);
}

TEST_CASE("of many valid names a message lists the ten nearest") {
  std::vector<std::string> valid;
  for (int i = 0; i < 1000; ++i) valid.push_back("name" + std::to_string(i));
  const std::string what = InputError::unknown_name({}, "name", "nam500", valid).what();
  CHECK(what.size() < 300);
  CHECK(what.find("did you mean 'name500'?") != std::string::npos);
  // In their order: name0, name10 .. name80 are two letters away like many others, and come first.
  CHECK(what.find("valid: name0, name10, name20") != std::string::npos);
  CHECK(what.find("name80, name500 and 990 more") != std::string::npos);
}

}  // namespace pipeloom::printable_test
