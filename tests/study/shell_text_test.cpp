#include "study/text/shell_text.hpp"

#include "support/catch.hpp"

using namespace pipeloom::study;

TEST_CASE("shell words: what a shell would look at twice stands in quotes") {
  CHECK(shell_word("options.waves=2") == "options.waves=2");
  CHECK(shell_word("two words") == "'two words'");
  CHECK(shell_word("") == "''");
  // A quote cannot stand inside quotes: 'it', an escaped quote, 's'.
  CHECK(shell_quoted("it's") == R"('it'\''s')");
}
