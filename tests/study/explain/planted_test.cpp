// Runs whose explanation once named a cause that was not there: what was planted is named, and nothing else.

#include "support/planted.hpp"

#include <cstdint>
#include <vector>

#include "study/explain/explain.hpp"
#include "support/catch.hpp"

namespace pipeloom::planted_test {
namespace {

using test::plant;
using test::PlantedRun;
using test::PlantedWorld;

const PlantedWorld kNoise{.sigma = 0.03};
const PlantedWorld kClocks{.sigma = 0.03, .clocks = 2};
const PlantedWorld kLatencies{.sigma = 0.01, .jitter = 0.3};

void check_nothing_invented(const PlantedWorld& world, const std::vector<std::uint64_t>& seeds) {
  for (const std::uint64_t seed : seeds) {
    const PlantedRun run = plant(seed, world);
    const study::explain::Explanation found = study::explain::explain(run.predicted, run.measured);
    INFO("seed " << seed << ": " << test::told(run, found));
    CHECK(!test::judge(run, found).invented);
  }
}

}  // namespace

TEST_CASE(
    "a link that is slow both ways is no lost time of the rank that was busy when its messages were due",
    "[explain]") {
  check_nothing_invented(kNoise, {509, 3694});
  check_nothing_invented(kLatencies, {465, 2839, 4442, 4828});
}

TEST_CASE("a message that jitters on a slow link is no lost time of its receiver", "[explain]") {
  check_nothing_invented(kLatencies, {115, 900427, 900465});
}

TEST_CASE("a rank whose messages come over a slow link does not pause", "[explain]") {
  check_nothing_invented(kNoise, {900613});
  check_nothing_invented(kLatencies, {900613, 3099});
}

TEST_CASE("lost time of a few ops is no slow kind of their stage", "[explain]") {
  check_nothing_invented(kNoise, {558, 4266, 900158});
}

TEST_CASE("two slow kinds are not a slow rank and a fast stage", "[explain]") {
  check_nothing_invented(kNoise, {2227});
}

TEST_CASE("clocks that the time of messages hides are no slow and fast links", "[explain]") {
  const PlantedRun run = plant(900646, kClocks);
  const study::explain::Explanation found = study::explain::explain(run.predicted, run.measured);
  INFO(test::told(run, found));
  CHECK(found.clocks_apart);
  CHECK(test::judge(run, found).right);
}

}  // namespace pipeloom::planted_test
