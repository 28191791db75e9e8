#include "sim/base/text_tools.hpp"

#include "support/catch.hpp"

using namespace pipeloom;

TEST_CASE("lower: ASCII's capitals and nothing else") {
  CHECK(lower("ZB-H1 8 GiB") == "zb-h1 8 gib");
  CHECK(lower("\xC3\x84@[") == "\xC3\x84@[");  // a capital outside ASCII, and the neighbours of A and Z
}

TEST_CASE("trimmed: only at the ends, only what is named") {
  CHECK(trimmed(" \ta b\r ") == "a b");
  CHECK(trimmed("\ta ", " ") == "\ta");
  CHECK(trimmed(" \t ").empty());
  CHECK(trimmed("").empty());
}

TEST_CASE("split and join: n separators, n + 1 parts, and back") {
  CHECK(split("", ',') == std::vector<std::string>{""});
  CHECK(split("a,,b,", ',') == std::vector<std::string>{"a", "", "b", ""});
  for (const char* text : {"a", "a,b", ",", "a,,b,"}) CHECK(join(split(text, ','), ",") == text);
  CHECK(join({}, ", ").empty());
  CHECK(join({"", "a"}, ", ") == ", a");
}
