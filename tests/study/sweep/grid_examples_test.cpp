// The grids under configs/sweeps: they are read, have the sizes that they state, and their points are configurations.

#include <filesystem>
#include <map>
#include <string>

#include "study/sweep/grid/grid.hpp"
#include "support/catch.hpp"

namespace grid_examples_test {

using namespace pipeloom;
using namespace pipeloom::sweep;

TEST_CASE("every example has the size that it states, and points that are configurations") {
  const std::map<std::string, std::uint64_t> sizes = {
      {"schedules.json", 8 * 4 * 5},      {"costs.json", 2 * 9 * 9 * 5},     {"interleaving.json", 4 * 3},
      {"large.json", 8 * 29 * 249 * 2},   {"million.json", 100 * 100 * 100}, {"sampled.json", 500},
      {"zero-bubble-memory.json", 7 + 11}};
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PIPELOOM_SOURCE_DIR "/configs/sweeps")) {
    const std::string name = entry.path().filename().string();
    CAPTURE(name);
    REQUIRE(sizes.count(name) == 1);
    ++found;
    const Grid grid = Grid::read(entry.path().string());
    CHECK(grid.combinations() == sizes.at(name));
    CHECK_FALSE(grid.metrics().empty());
    Combination combination;
    for (std::uint64_t i = 0; i < grid.combinations(); i += 1 + grid.combinations() / 97) {
      if (!grid.combination(i, combination)) continue;
      const io::Config config = grid.config(combination);
      CHECK(config.ranks > 0);
      CHECK(config.warnings.empty());
      CHECK(grid.key(combination).size() == 16);
    }
  }
  CHECK(found == sizes.size());
}

TEST_CASE("the example with a zip, derived keys and conditions is what its text says") {
  const Grid grid = Grid::read(PIPELOOM_SOURCE_DIR "/configs/sweeps/interleaving.json");
  std::string all;
  Combination combination;
  for (std::uint64_t i = 0; i < grid.combinations(); ++i) {
    if (!grid.combination(i, combination)) continue;
    const io::Config config = grid.config(combination);
    all += std::to_string(*config.chunks) + "x" + std::to_string(config.ranks) + " ";
    // 64 units of forward over all stages: 1e9 ticks each.
    CHECK(config.costs.duration[0]->scalar * *config.chunks * config.ranks == 64'000'000'000);
    CHECK(config.options.group_size == config.ranks);
  }
  CHECK(all == "2x4 2x8 2x16 4x4 4x8 4x16 8x4 8x8 16x4 ");
}

}  // namespace grid_examples_test
