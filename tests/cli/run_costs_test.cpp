// Costs on a real clock, and measured ones as a file.

#include "cli/run/run_costs.hpp"

#include <sstream>

#include "sim/io/json/json_value.hpp"
#include "support/catch.hpp"

namespace pipeloom::cli::run_costs_test {
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

/// Ten messages of 4 KiB that wait 3 ms, then 0.05 ms when both ends are posted, and take 0.05 ms.
executor::MeasuredTransfers ten_messages() {
  executor::MeasuredTransfers transfers;
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

TEST_CASE("measured costs as a file, and in the place of others") {
  executor::MeasuredCosts costs = two_stages();
  SECTION("ops") {
    std::ostringstream out;
    write_costs(out, costs, {});
    CHECK(
        out.str() ==
        "{\n  \"time_unit\": \"ms\",\n  \"forward\": [1.5, 2.0],\n  \"backward\": [3.0, 4.0],\n"
        "  \"measured\": {\n    \"spread\": {\"forward\": [0.25, 0.0], \"backward\": [0.0, 0.0]}\n  }\n}\n");
  }
  SECTION("groups of stage 0 only: the other stage's ops one after another; and a latency") {
    costs.group = {{4, 4 * kMs, 0}, {}};
    costs.transfers = ten_messages();
    std::ostringstream out;
    write_costs(out, costs, {});
    CHECK(out.str() ==
          "{\n  \"time_unit\": \"ms\",\n  \"forward\": [1.5, 2.0],\n  \"backward\": [3.0, 4.0],\n"
          "  \"overlapped\": [4.0, 6.0],\n  \"transfer\": {\"latency\": 0.1},\n"
          "  \"measured\": {\n    \"spread\": {\"forward\": [0.25, 0.0], \"backward\": [0.0, 0.0], "
          "\"overlapped\": [0.0, 0.0]},\n"
          "    \"messages\": {\"count\": 10, \"bytes\": 4096,\n"
          "      \"waiting\": {\"median\": 3.0, \"spread\": 1.0},\n"
          "      \"overhead\": {\"median\": 0.05, \"spread\": 0.0},\n"
          "      \"transfer\": {\"median\": 0.05, \"spread\": 0.25}}\n  }\n}\n");
    io::Config config;
    config.costs.rank_scale.array = {1, 2};
    take_costs(config, costs);
    CHECK(config.costs.rank_scale.array.empty());
    CHECK(config.costs.duration[index_of(OpKind::Backward)]->array == std::vector<Ticks>{3 * kMs, 4 * kMs});
    CHECK(config.costs.overlap->duration.array == std::vector<Ticks>{4 * kMs, 6 * kMs});
    CHECK(config.costs.transfer.link.latency == kMs / 10);
    CHECK(config.costs.transfer.bytes == 0);
  }
  SECTION("a bandwidth, with the size of a message; a configuration reads it") {
    costs.transfers = ten_messages();
    costs.transfers.link->fit.bits_per_second = 2.5e9;
    std::ostringstream out;
    write_costs(out, costs, {});
    CHECK(out.str().find(R"("transfer": {"latency": 0.1, "bytes": 4096, "bandwidth_gbps": 2.5})") !=
          std::string::npos);
    const std::string text =
        R"({"schedule": "1f1b", "ranks": 2, "microbatches": 2, "costs": )" + out.str() + "}";
    const io::Config read = io::read_run_config(io::Document::parse(text, "c.json").root());
    CHECK(read.costs.transfer.link.latency == kMs / 10);
    CHECK(read.costs.transfer.link.bits_per_second == 2'500'000'000);
    CHECK(read.costs.transfer.bytes == 4096);
    io::Config config;
    take_costs(config, costs);
    CHECK(config.costs.transfer.link.bits_per_second == 2'500'000'000);
    CHECK(config.costs.transfer.bytes == 4096);
  }
}

TEST_CASE("op times by stage, of kinds that were seen") {
  CHECK(op_times_page(two_stages(), false) ==
        "stage      F  spread      B  spread\n"
        "    0  1.500   0.250  3.000   0.000\n"
        "    1  2.000   0.000  4.000   0.000\n");
}

TEST_CASE("what never ran alone is not written as if it had") {
  executor::MeasuredCosts costs = two_stages();
  for (auto& samples : costs.share) samples.resize(2);
  costs.op[index_of(OpKind::Backward)][0] = {};
  costs.share[index_of(OpKind::Backward)][0] = {4, 2 * kMs, 0};
  const auto written = [&] {
    std::ostringstream out;
    write_costs(out, costs, {});
    return out.str();
  };
  // Nothing else is known of stage 0.
  CHECK(written().find(R"("backward": {"stages": {"1": 4.0}})") != std::string::npos);
  CHECK(unmeasured(costs) ==
        std::vector<std::string>{"B of stage 0 ran in groups only: a costs file leaves it out"});
  // Its I takes 1 ms and its W 1.5 ms.
  costs.op[index_of(OpKind::BackwardInput)] = {{4, kMs, 0}, {4, kMs, 0}};
  costs.op[index_of(OpKind::BackwardWeight)] = {{4, 3 * kMs / 2, 0}, {4, kMs, 0}};
  CHECK(written().find(R"("backward": [2.5, 4.0])") != std::string::npos);
  CHECK(unmeasured(costs) ==
        std::vector<std::string>{"B of stage 0 ran in groups only: costs take I + W for it"});
}

TEST_CASE("measured costs keep the rules of messages and groups that were run") {
  executor::MeasuredCosts costs = two_stages();
  costs.transfers = ten_messages();
  cost::CostSpec rules;
  rules.transfer.model = cost::TransferModel::Async;
  rules.transfer.plan = "ahead";
  rules.transfer.ahead = 2;
  rules.transfer.queue = "per-rank";
  rules.transfer.link.latency = 7 * kMs;
  rules.overlap.emplace();
  rules.overlap->rule = OverlapRule::Sequential;
  std::ostringstream out;
  write_costs(out, costs, rules);
  CHECK(out.str().find(
            "\"overlapped\": \"sequential\",\n  \"transfer\": {\"model\": \"async\", \"plan\": \"ahead\", "
            "\"ahead\": 2, \"queue\": \"per-rank\", \"latency\": 0.1}") != std::string::npos);
  io::Config config;
  config.costs = rules;
  take_costs(config, costs);
  CHECK(config.costs.overlap->rule == OverlapRule::Sequential);
  CHECK(config.costs.transfer.queue == "per-rank");
  CHECK(config.costs.transfer.link.latency == kMs / 10);
}

TEST_CASE("messages: one line for all, and one per pair of ranks") {
  executor::MeasuredTransfers transfers = ten_messages();
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
