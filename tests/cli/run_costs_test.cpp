// Costs on a real clock, and measured ones as a file.

#include "cli/run_costs.hpp"

#include <sstream>

#include "support/catch.hpp"

namespace pipeloom::cli {
namespace {

using cost::StageNumbers;

constexpr Ticks kUnit = 1'000'000'000;
constexpr Ticks kMs = 1'000'000'000;

/// Two stages: F 1.5 and 2 ms, B 3 and 4 ms.
executor::MeasuredCosts two_stages() {
  executor::MeasuredCosts costs;
  for (auto& samples : costs.op) samples.resize(2);
  costs.op[index_of(OpKind::Forward)] = {{8, 3 * kMs / 2, kMs / 4}, {8, 2 * kMs, 0}};
  costs.op[index_of(OpKind::Backward)] = {{8, 3 * kMs, 0}, {8, 4 * kMs, 0}};
  return costs;
}

}  // namespace

TEST_CASE("abstract times get the length of a unit") {
  io::RunConfig config;
  config.costs.duration[index_of(OpKind::Forward)] = StageNumbers::all(3 * kUnit, "costs.forward");
  config.costs.transfer.link.latency = kUnit / 2;
  config.step.optimizer = 4 * kUnit;
  put_on_clock(config, 10 * kMs);
  CHECK(config.costs.unit == TimeUnit::Millisecond);
  CHECK(config.costs.duration[index_of(OpKind::Forward)]->scalar == 30 * kMs);
  CHECK(config.costs.transfer.link.latency == 5 * kMs);
  CHECK(config.step.optimizer == 40 * kMs);
  CHECK_FALSE(config.costs.duration[index_of(OpKind::Backward)]);
}

TEST_CASE("without op costs those of an empty configuration get it") {
  io::RunConfig config;
  put_on_clock(config, 2 * kMs);
  CHECK(config.costs.duration[index_of(OpKind::Forward)]->scalar == 2 * kMs);
  CHECK(config.costs.duration[index_of(OpKind::Backward)]->scalar == 4 * kMs);
  CHECK(config.costs.duration[index_of(OpKind::BackwardInput)]->scalar == 2 * kMs);
  CHECK(config.costs.duration[index_of(OpKind::BackwardWeight)]->scalar == 2 * kMs);
}

TEST_CASE("times that no clock measures are refused") {
  io::RunConfig config;
  config.step.optimizer = kMaxTicks / 4;
  CHECK_THROWS_AS(put_on_clock(config, 10 * kMs), InputError);
}

TEST_CASE("measured costs as a file, and in the place of others") {
  executor::MeasuredCosts costs = two_stages();
  SECTION("ops") {
    std::ostringstream out;
    write_costs(out, costs);
    CHECK(out.str() ==
          "{\n  \"time_unit\": \"ms\",\n  \"forward\": [1.5, 2.0],\n  \"backward\": [3.0, 4.0]\n}\n");
  }
  SECTION("groups of stage 0 only: the other stage's ops one after another; and a latency") {
    costs.group = {{4, 4 * kMs, 0}, {}};
    costs.latency = {10, kMs / 10, 0};
    std::ostringstream out;
    write_costs(out, costs);
    CHECK(out.str() ==
          "{\n  \"time_unit\": \"ms\",\n  \"forward\": [1.5, 2.0],\n  \"backward\": [3.0, 4.0],\n"
          "  \"overlapped\": [4.0, 6.0],\n  \"transfer\": {\"latency\": 0.1}\n}\n");
    io::RunConfig config;
    config.costs.rank_scale = {1, 2};
    take_costs(config, costs);
    CHECK(config.costs.rank_scale.empty());
    CHECK(config.costs.duration[index_of(OpKind::Backward)]->array == std::vector<Ticks>{3 * kMs, 4 * kMs});
    CHECK(config.costs.overlap->duration.array == std::vector<Ticks>{4 * kMs, 6 * kMs});
    CHECK(config.costs.transfer.link.latency == kMs / 10);
  }
}

TEST_CASE("op times by stage, of kinds that were seen") {
  CHECK(op_times_page(two_stages(), false) ==
        "stage      F  spread      B  spread\n"
        "    0  1.500   0.250  3.000   0.000\n"
        "    1  2.000   0.000  4.000   0.000\n");
}

}  // namespace pipeloom::cli
