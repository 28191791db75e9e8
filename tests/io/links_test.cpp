#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/link.hpp>
#include "sim/io/config/config.hpp"
#include "sim/io/links/deflate.hpp"
#include "sim/io/links/link.hpp"
#include "support/catch.hpp"

namespace links_test {

using namespace pipeloom;
using Catch::Matchers::Contains;

namespace {

constexpr std::string_view kConfig = R"({"schedule":"1f1b","ranks":4,"microbatches":8})";
// By Python: base64.urlsafe_b64encode of zlib.compressobj(9, DEFLATED, -15, 9) and (0, ..), without '='.
constexpr std::string_view kPacked = "1.q1YqTs5ITSnNSVWyUjJMM0xS0lEqSszLLlayMtFRys1MLspPSiwBKgEKWNQCAA";
constexpr std::string_view kStored = "1.AS4A0f97InNjaGVkdWxlIjoiMWYxYiIsInJhbmtzIjo0LCJtaWNyb2JhdGNoZXMiOjh9";

std::string value_of(std::string_view json) {
  return io::link_value(io::Document::parse(json, "run.json").root());
}

/// The message of the refusal; "" if it is read.
std::string refusal(const std::string& link) {
  try {
    static_cast<void>(read_link(link));
    return "";
  } catch (const InputError& error) {
    CHECK(error.where().text() == "link");
    return error.what();
  }
}

}  // namespace

TEST_CASE("a configuration is its own link") {
  CHECK(read_link("#c=" + value_of(kConfig)).config == kConfig);
  CHECK(read_link(fmt::format("#c={}", kPacked)).config == kConfig);
  CHECK(read_link(fmt::format("http://127.0.0.1:8917/#c={}", kStored)).config == kConfig);
}

TEST_CASE("keys keep their order and numbers their text, without comments and blanks") {
  const std::string value = value_of(
      "{\"ranks\": 4, // four\n \"costs\": {\"forward\": 1.50, \"backward\": 2e0}, \"a\": [1, "
      "\"\xc3\xa9\"]}");
  CHECK(read_link("#c=" + value).config ==
        "{\"ranks\":4,\"costs\":{\"forward\":1.50,\"backward\":2e0},\"a\":[1,\"\xc3\xa9\"]}");
}

TEST_CASE("the parts of a link") {
  const Link both = read_link(fmt::format("https://example.org/p/?x=1#c={}&compare={}", kPacked, kStored));
  CHECK(both.config == kConfig);
  CHECK(both.compare == kConfig);
  CHECK(!both.file);
  CHECK(read_link(fmt::format("#c={}&", kPacked)).config == kConfig);
  CHECK(read_link("#u=runs/a%20b.json").file == "runs/a b.json");
  CHECK(read_link(fmt::format("page.html#compare={}&u=run.json", kPacked)).file == "run.json");
}

TEST_CASE("what is a link") {
  for (const char* text :
       {"#c=1.x", "#", "http://127.0.0.1:8917/", "https://x.org/#c=1", "index.html#u=a.json", "#x=1"})
    CHECK(is_link(text));
  for (const char* text : {"run.json", "a#b.json", "zbv", "-", "", "ftp://x/", "c=1.x"})
    CHECK(!is_link(text));
}

TEST_CASE("a link that is refused says why in one sentence") {
  const auto c = [](std::string_view value) { return refusal(fmt::format("#c={}", value)); };
  CHECK_THAT(refusal("http://example.org/"), Contains("has no run after '#'"));
  CHECK_THAT(refusal("#"), Contains("has no run after '#'"));
  CHECK_THAT(refusal("#d=1.x"), Contains("unknown parameter 'd'"));
  CHECK_THAT(refusal("#c"), Contains("begins with no version"));
  CHECK_THAT(c(""), Contains("begins with no version"));
  CHECK_THAT(c(kPacked.substr(2)), Contains("begins with no version"));
  CHECK_THAT(c("x.AAAA"), Contains("begins with no version"));
  CHECK_THAT(c("2.AAAA"), Contains("version 2 of links") && Contains("newer pipeloom"));
  CHECK_THAT(c("1.AB+D"), Contains("'+' in the value of c= is no digit of base64url"));
  CHECK_THAT(c("1.AB=="), Contains("'=' in the value"));
  CHECK_THAT(c("1."), Contains("ends too early"));
  CHECK_THAT(c(kPacked.substr(0, 40)), Contains("ends too early") && Contains("copy the link again"));
  CHECK_THAT(c("1._____w"), Contains("is damaged"));
  CHECK_THAT(c(std::string(kPacked) + "AAAAAA"), Contains("is damaged"));
  CHECK_THAT(c(std::string(kMaxLinkValue + 1, 'A')),
             Contains("has 32769 characters, and at most 32768 are read"));
  CHECK_THAT(refusal(fmt::format("#c={}&c={}", kPacked, kPacked)), Contains("c= is there twice"));
  CHECK_THAT(refusal(fmt::format("#c={}&u=run.json", kPacked)), Contains("c= and u= are both there"));
  CHECK_THAT(refusal(fmt::format("#compare={}", kPacked)), Contains("compare= is there alone"));
  CHECK_THAT(refusal("#&"), Contains("has no run after '#'"));
  CHECK_THAT(c(std::string(kPacked) + "AAA"), Contains("ends too early"));
}

TEST_CASE("a link to a file leads below its page and nowhere else") {
  for (const char* path :
       {"", "/etc/passwd", "../run.json", "runs/../../x", "%2e%2e/x", "runs/%2E%2e/x", "//host/x",
        "http://host/x", "%2Fetc", "a%5Cb", "a%00b", "x?y=1", "javascript:x", "a#b", "a%25"})
    CHECK_THAT(refusal(fmt::format("#u={}", path)), Contains("is no path of a file beside the page"));
  CHECK_THROWS_WITH(io::linked_configs("#u=run.json"), Contains("loads nothing from a network"));
}

TEST_CASE("a link that would unpack to more than there may be costs no more memory than that") {
  const std::string bomb = io::deflated(std::string(std::size_t{20} << 20, ' '));
  std::string text;
  CHECK(io::inflate_into(text, bomb, kMaxLinkText) == io::Unpacked::TooLong);
  CHECK(text.size() <= kMaxLinkText);
  // All of the limit is allowed, and a byte more is not.
  const std::string most(kMaxLinkText, ' ');
  text.clear();
  CHECK(io::inflate_into(text, io::deflated(most), kMaxLinkText) == io::Unpacked::Whole);
  CHECK(text == most);
  text.clear();
  CHECK(io::inflate_into(text, io::deflated(most + ' '), kMaxLinkText) == io::Unpacked::TooLong);
}

TEST_CASE("a configuration that no link holds is told so") {
  // Numbers of which none follows from the one before: 6 digits take at least 20 bits, 16,000 of them 40,000 bytes.
  std::mt19937 random(1);
  std::string json = R"({"schedule":"1f1b","x":[0)";
  for (int i = 0; i < 16'000; ++i) json += fmt::format(",{}", random() % 1'000'000);
  CHECK_THROWS_WITH(value_of(json + "]}"), Contains("put the file beside the page") && Contains("#u=NAME"));
}

TEST_CASE("the address in front of a link") {
  const std::string value = std::string(kPacked);
  CHECK(io::link_text("", value, std::nullopt) == "#c=" + value);
  CHECK(io::link_text("https://example.org", value, "2.x") ==
        "https://example.org/#c=" + value + "&compare=2.x");
  CHECK(io::link_text("docs/live/", value, std::nullopt) == "docs/live/#c=" + value);
  for (const char* base : {"javascript:alert(1)//", "http://x/#a", "a b", "http://x/\"", "data:text/html,x"})
    CHECK_THROWS_WITH(io::link_text(base, value, std::nullopt), Contains("is no address of a page"));
}

namespace {

/// A link with some of its characters changed, left out, doubled or put in.
std::string mutated(std::string link, std::mt19937& random) {
  constexpr std::string_view kLetters = "ABCabc019-_.=&#%/+ cu\x01\xff";
  for (std::uint32_t times = 1 + random() % 4; times > 0 && !link.empty(); --times) {
    const std::size_t at = random() % link.size();
    const std::size_t length = 1 + random() % 8;
    const char letter = kLetters[random() % kLetters.size()];
    switch (random() % 5) {
      case 0:
        link[at] = letter;
        break;
      case 1:
        link.erase(at, length);
        break;
      case 2:
        link.insert(at, link.substr(at, length));
        break;
      case 3:
        link.insert(at, 1, letter);
        break;
      default:
        link.resize(at);
    }
  }
  return link;
}

enum class Outcome : std::uint8_t { Equal, Other, Refused };

void require_sentence(const InputError& error) {
  const std::string line = error.line();
  REQUIRE(line.find('\n') == std::string::npos);
  REQUIRE(line.size() < 700);
}

/// A sum is no part of deflate, so that other text may come of a link that was changed: the reader of configurations then judges it.
Outcome outcome_of(const std::string& link, const Link& whole) {
  try {
    const Link read = read_link(link);
    if (read.config == whole.config && read.file == whole.file && read.compare == whole.compare)
      return Outcome::Equal;
    REQUIRE(std::max(read.config.value_or("").size(), read.compare.value_or("").size()) <= kMaxLinkText);
    if (read.config) static_cast<void>(io::read_run_config(io::Document::parse(*read.config, "link").root()));
    return Outcome::Other;
  } catch (const InputError& error) {
    require_sentence(error);
    return Outcome::Refused;
  }
}

}  // namespace

TEST_CASE("10,000 links that were changed: the same text, text that a reader judges, or one sentence") {
  const std::string longer = value_of(io::read_file(PIPELOOM_SOURCE_DIR "/configs/family/6.2b-zbv.json"));
  const std::array<std::string, 4> links = {
      fmt::format("#c={}", kPacked), "http://127.0.0.1:8917/#c=" + longer,
      fmt::format("https://example.org/#c={}&compare={}", longer, kPacked), "#u=runs/one/run.json"};
  std::mt19937 random(54);
  std::array<int, 3> counts{};
  for (int i = 0; i < 10'000; ++i) {
    const std::string& link = links[random() % links.size()];
    ++counts[static_cast<std::size_t>(outcome_of(mutated(link, random), read_link(link)))];
  }
  CHECK(counts[0] + counts[1] + counts[2] == 10'000);
  // The address in front of '#' may change without harm: two of four links have one, at least an eighth of their text.
  CHECK(counts[static_cast<std::size_t>(Outcome::Equal)] > 0);
  CHECK(counts[static_cast<std::size_t>(Outcome::Refused)] > 5'000);
}

}  // namespace links_test
