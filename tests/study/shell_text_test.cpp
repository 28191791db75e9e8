#include "study/text/shell_text.hpp"

#include "support/catch.hpp"

namespace shell_text_test {

using namespace pipeloom::study;

TEST_CASE("shell words: what a shell would look at twice stands in quotes") {
  CHECK(shell_word("options.waves=2") == "options.waves=2");
  CHECK(shell_word("two words") == "'two words'");
  CHECK(shell_word("out.3-of-7.jsonl") == "out.3-of-7.jsonl");
  CHECK(shell_word("--axis=ranks=4,8") == "--axis=ranks=4,8");
  CHECK(shell_word("=ls") == "'=ls'");
  CHECK(shell_word("$HOME") == "'$HOME'");
  CHECK(shell_word("~/x") == "'~/x'");
  CHECK(shell_word("") == "''");
  // A quote cannot stand inside quotes: 'it', an escaped quote, 's'.
  CHECK(shell_quoted("it's") == R"('it'\''s')");
}

}  // namespace shell_text_test
