// Costs on a real clock, and measured ones as tables.

#include "cli/run/run_costs.hpp"

#include "support/catch.hpp"

namespace pipeloom::cli::run_costs_test {
namespace {

using cost::StageNumbers;

constexpr Ticks kUnit = 1'000'000'000;
constexpr Ticks kMs = 1'000'000'000;

/// Two stages: F 1.5 and 2 ms, B 3 and 4 ms.
cost::MeasuredOps two_stages() {
  cost::MeasuredOps costs;
  for (auto& samples : costs.op) samples.resize(2);
  costs.op[index_of(OpKind::Forward)] = {{8, 3 * kMs / 2, kMs / 4}, {8, 2 * kMs, 0}};
  costs.op[index_of(OpKind::Backward)] = {{8, 3 * kMs, 0}, {8, 4 * kMs, 0}};
  return costs;
}

/// Ten messages of 4 KiB that wait 3 ms, then 0.05 ms when both ends are posted, and take 0.05 ms.
cost::MeasuredTransfers ten_messages() {
  cost::MeasuredTransfers transfers;
  transfers.all = {
      .waiting = {10, 3 * kMs, kMs}, .overhead = {10, kMs / 20, 0}, .transfer = {10, kMs / 20, kMs / 4}};
  transfers.link = {.fit = {.latency = kMs / 20, .bits_per_second = {}}, .overhead = kMs / 20, .bytes = 4096};
  return transfers;
}

}  // namespace

TEST_CASE("abstract times get the length of a unit") {
  io::Config config;
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
  io::Config config;
  put_on_clock(config, 2 * kMs);
  CHECK(config.costs.duration[index_of(OpKind::Forward)]->scalar == 2 * kMs);
  CHECK(config.costs.duration[index_of(OpKind::Backward)]->scalar == 4 * kMs);
  CHECK(config.costs.duration[index_of(OpKind::BackwardInput)]->scalar == 2 * kMs);
  CHECK(config.costs.duration[index_of(OpKind::BackwardWeight)]->scalar == 2 * kMs);
}

TEST_CASE("times that no clock measures are refused") {
  io::Config config;
  config.step.optimizer = kMaxTicks / 4;
  CHECK_THROWS_AS(put_on_clock(config, 10 * kMs), InputError);
}

TEST_CASE("op times by stage, of kinds that were seen") {
  CHECK(op_times_page(two_stages(), false) ==
        "stage      F  spread      B  spread\n"
        "    0  1.500   0.250  3.000   0.000\n"
        "    1  2.000   0.000  4.000   0.000\n");
}

TEST_CASE("messages: one line for all, and one per pair of ranks") {
  cost::MeasuredTransfers transfers = ten_messages();
  CHECK(transfers_page(transfers, false, false) ==
        "from  to   messages  waiting  spread  overhead  spread  transfer  spread\n"
        "all   all        10    3.000   1.000     0.050   0.000     0.050   0.250\n"
        "a rank that stands waiting sees a latency of 0.100 ms; messages have 4096 bytes\n");
  transfers.pairs = {{Rank(0), Rank(1), transfers.all}};
  transfers.link->fit.bits_per_second = 2.5e9;
  CHECK(transfers_page(transfers, true, false) ==
        "from  to   messages  waiting  spread  overhead  spread  transfer  spread\n"
        "all   all        10    3.000   1.000     0.050   0.000     0.050   0.250\n"
        "0     1          10    3.000   1.000     0.050   0.000     0.050   0.250\n"
        "a rank that stands waiting sees a latency of 0.100 ms and 2.5 Gbit/s; messages have 4096 bytes\n");
  CHECK(transfers_page({}, true, false) == "");
}

}  // namespace pipeloom::cli::run_costs_test
