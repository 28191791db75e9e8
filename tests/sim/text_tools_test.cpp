#include "sim/base/text_tools.hpp"

#include "support/catch.hpp"

namespace text_tools_test {

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

TEST_CASE("the nearest name ignores case and dashes, and gives up when nothing is near") {
  const std::vector<std::string> names = {"gpipe", "1f1b",     "interleaved-1f1b",
                                          "zb-h1", "dualpipe", "dualpipe-v"};
  CHECK(nearest_name("GPipe", names) == "gpipe");
  CHECK(nearest_name("gpip", names) == "gpipe");
  CHECK(nearest_name("gppie", names) == "gpipe");
  CHECK(nearest_name("interleaved_1f1b", names) == "interleaved-1f1b");
  CHECK(nearest_name("interleved1f1b", names) == "interleaved-1f1b");
  CHECK(nearest_name("dualpipev", names) == "dualpipe-v");
  CHECK(nearest_name("zbh2", names) == "zb-h1");
  CHECK(nearest_name("hanayo", names).empty());
  CHECK(nearest_name("", {}).empty());
  CHECK(nearest_name(std::string(1'000'000, 'x'), names).empty());
}

TEST_CASE("of equally near names the first wins") {
  CHECK(nearest_name("ab1", {"ab2", "ab3"}) == "ab2");
}

TEST_CASE("of equally near names the one with the same dashes wins") {
  // Without dashes all are one digit away; as they are spelt, "zb1p" lacks the dash too.
  CHECK(nearest_name("zb-3p", {"zb1p", "zb-1p", "zb-2p"}) == "zb-1p");
  CHECK(nearest_name("zb3p", {"zb-1p", "zb1p"}) == "zb1p");
}

TEST_CASE("the nearest names keep their order") {
  // "gpip" is 1, 3 and 1 letters away.
  CHECK(nearest_names("gpip", {"gpipe", "1pipe", "pip"}, 2) == std::vector<std::string>{"gpipe", "pip"});
  CHECK(nearest_names("x", {"a", "b"}, 2) == std::vector<std::string>{"a", "b"});
}

}  // namespace text_tools_test
