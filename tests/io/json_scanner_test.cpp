// The scanner over files longer than its blocks: what it gives does not depend on where a block ends.

#include "sim/io/traces/json_scanner.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include "support/catch.hpp"
#include "support/temporary.hpp"

namespace json_scanner_test {

using namespace pipeloom;
using namespace pipeloom::io;

namespace {

/// Blocks of the scanner have a MiB.
constexpr std::size_t kBlockOfScanner = std::size_t{1} << 20;

}  // namespace

TEST_CASE("Strings, escapes and brackets may stand across the end of a block") {
  const auto file = test::temporary_path("json_scanner_test.json");
  const std::string element = R"({"a":"x\"}","b\\":["]",{"c":1.5}]})";
  // The element's every byte stands once at the beginning of the second block.
  for (std::size_t shift = 0; shift <= element.size(); ++shift) {
    const std::string filler(kBlockOfScanner - 1 - shift, ' ');
    std::ofstream(file, std::ios::binary) << '[' << filler << element << ",\n" << element << ']';
    ByteSource source(file.string());
    JsonScanner json(source);
    REQUIRE(json.enter('['));
    REQUIRE(json.next_element());
    const std::string first(json.take_value());
    INFO("shift " << shift);
    CHECK(first == element);
    REQUIRE(json.next_element());
    json.skip_value();
    CHECK_FALSE(json.next_element());
    CHECK_FALSE(json.is_truncated());
  }
  std::filesystem::remove(file);
}

TEST_CASE("A text that ends early is marked, wherever it ends") {
  const auto file = test::temporary_path("json_scanner_cut.json");
  const std::string whole = R"({"key":[{"a":"b"},"c",12],"more":{}})";
  for (std::size_t size = 1; size < whole.size(); ++size) {
    std::ofstream(file, std::ios::binary) << whole.substr(0, size);
    ByteSource source(file.string());
    JsonScanner json(source);
    REQUIRE(json.enter('{'));
    std::string key;
    while (json.next_key(key)) json.skip_value();
    INFO(whole.substr(0, size));
    CHECK(json.is_truncated());
  }
  std::filesystem::remove(file);
}

}  // namespace json_scanner_test
