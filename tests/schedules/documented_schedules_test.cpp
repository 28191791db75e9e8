// docs/schedules.md: every schedule has its row, with the figures that a simulation gives.

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>

#include <pipeloom/metrics.hpp>
#include "schedules/generator.hpp"
#include "sim/analysis/metrics.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/kinds.hpp"
#include "support/catch.hpp"

namespace pipeloom::schedules::documented_schedules_test {
namespace {

std::string page() {
  std::ifstream file(std::string(PIPELOOM_SOURCE_DIR) + "/docs/schedules.md");
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// "| `zb-h1` | 0.0680 | 0.0680 | 8 |": idle over all time and over the longest window; 8 ranks, 32 microbatches, F = 1, B = 2, I = W = 1 in every chunk pass; microbatches of a rank's layers that
/// the fullest rank holds.
std::string row_of(const Generator& generator) {
  Params params{.ranks = 8, .microbatches = 32, .chunks = generator.requirements.default_chunks};
  params.options.slices = equal_slices(generator.requirements.default_slices);
  params.options.updates = generator.requirements.default_updates;
  const auto schedule = std::make_shared<const Schedule>(make(generator, params));
  const Costs costs = uniform_costs(schedule->placement(), {});
  const Metrics metrics =
      measure(simulate(schedule, costs), costs, default_memory(schedule->placement()), {});
  int peak = 0;
  for (const RankMetrics& rank : metrics.ranks) peak = std::max(peak, rank.memory.peak_live);
  return fmt::format("| `{}` | {:.4f} | {:.4f} | {:.4g} |", generator.name, metrics.bubble_ratio,
                     metrics.window_bubble_ratio,
                     static_cast<double>(peak) / params.chunks / params.slices());
}

}  // namespace

TEST_CASE("documented schedules: every one has its row with what it idles and holds") {
  const std::string text = page();
  for (const Generator& generator : all()) {
    const std::string row = row_of(generator);
    INFO(row);
    CHECK(text.find(row) != std::string::npos);
  }
}

}  // namespace pipeloom::schedules::documented_schedules_test
