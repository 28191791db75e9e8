// The worked example of docs/adding-anything.md: the page shows the code of the built-in
// schedule, and its order is the one that the page ends with.

#include <fstream>
#include <iterator>

#include <pipeloom/schedule.hpp>
#include "schedules/generator.hpp"
#include "support/catch.hpp"

namespace pipeloom::schedules::documented_example_test {
namespace {

std::string source_text(const std::string& path) {
  std::ifstream file(std::string(PIPELOOM_SOURCE_DIR) + "/" + path);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("documented example: the page shows the compiled code") {
  const std::string page = source_text("docs/adding-anything.md");
  const std::string code = source_text("schedules/looped_bfs.cpp");
  CHECK(page.find("```cpp\n" + code + "```\n") != std::string::npos);
}

TEST_CASE("documented example: PyTorch's LoopedBFS order on 2 ranks with 2 chunks and 2 microbatches") {
  const Schedule schedule = make(*find("looped-bfs").generator, {.ranks = 2, .microbatches = 2, .chunks = 2});
  CHECK(queue_text(schedule, Rank(0)) == "0F0 0F1 2F0 2F1 2B1 2B0 0B1 0B0");
  CHECK(queue_text(schedule, Rank(1)) == "1F0 1F1 3F0 3F1 3B1 3B0 1B1 1B0");
}

}  // namespace pipeloom::schedules::documented_example_test
