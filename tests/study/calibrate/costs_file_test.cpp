// Measurements as a file, and as the costs of a configuration.

#include "study/calibrate/costs_file.hpp"

#include <sstream>

#include "sim/io/config/config.hpp"
#include "sim/io/json/json_value.hpp"
#include "support/catch.hpp"

namespace pipeloom::study::calibrate::costs_file_test {
namespace {

constexpr Ticks kMs = 1'000'000'000;

/// Two stages: F 1.5 and 2 ms, B 3 and 4 ms.
Measurements two_stages() {
  Measurements costs;
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

std::string file_of(const Measurements& measured, const cost::CostSpec& rules = {}) {
  std::ostringstream out;
  write_costs(out, measured, rules);
  return out.str();
}

}  // namespace

TEST_CASE("measured costs as a file, and in the place of others") {
  Measurements costs = two_stages();
  SECTION("ops") {
    const std::string out = file_of(costs);
    CHECK(
        out ==
        "{\n  \"time_unit\": \"ms\",\n  \"forward\": [1.5, 2.0],\n  \"backward\": [3.0, 4.0],\n"
        "  \"measured\": {\n    \"spread\": {\"forward\": [0.25, 0.0], \"backward\": [0.0, 0.0]}\n  }\n}\n");
  }
  SECTION("groups of stage 0 only: the other stage's ops one after another; and a latency") {
    costs.group = {{4, 4 * kMs, 0}, {}};
    costs.transfers = ten_messages();
    const std::string out = file_of(costs);
    CHECK(out ==
          "{\n  \"time_unit\": \"ms\",\n  \"forward\": [1.5, 2.0],\n  \"backward\": [3.0, 4.0],\n"
          "  \"overlapped\": [4.0, 6.0],\n  \"transfer\": {\"latency\": 0.1},\n"
          "  \"measured\": {\n    \"spread\": {\"forward\": [0.25, 0.0], \"backward\": [0.0, 0.0], "
          "\"overlapped\": [0.0, 0.0]},\n"
          "    \"messages\": {\"count\": 10, \"bytes\": 4096,\n"
          "      \"waiting\": {\"median\": 3.0, \"spread\": 1.0},\n"
          "      \"overhead\": {\"median\": 0.05, \"spread\": 0.0},\n"
          "      \"transfer\": {\"median\": 0.05, \"spread\": 0.25}}\n  }\n}\n");
    cost::CostSpec rules;
    rules.rank_scale.array = {1, 2};
    const cost::CostSpec spec = costs_of(costs, rules);
    CHECK(spec.rank_scale.array.empty());
    CHECK(spec.duration[index_of(OpKind::Backward)]->array == std::vector<Ticks>{3 * kMs, 4 * kMs});
    CHECK(spec.overlap->duration.array == std::vector<Ticks>{4 * kMs, 6 * kMs});
    CHECK(spec.transfer.link.latency == kMs / 10);
    CHECK(spec.transfer.bytes == 0);
  }
  SECTION("a bandwidth, with the size of a message; a configuration reads it") {
    costs.transfers = ten_messages();
    costs.transfers.link->fit.bits_per_second = 2.5e9;
    const std::string out = file_of(costs);
    CHECK(out.find(R"("transfer": {"latency": 0.1, "bandwidth_gbps": 2.5, "bytes": 4096})") !=
          std::string::npos);
    const std::string text = R"({"schedule": "1f1b", "ranks": 2, "microbatches": 2, "costs": )" + out + "}";
    const io::Config read = io::read_run_config(io::Document::parse(text, "c.json").root());
    CHECK(read.costs.transfer.link.latency == kMs / 10);
    CHECK(read.costs.transfer.link.bits_per_second == 2'500'000'000);
    CHECK(read.costs.transfer.bytes == 4096);
    const cost::CostSpec spec = costs_of(costs);
    CHECK(spec.transfer.link.bits_per_second == 2'500'000'000);
    CHECK(spec.transfer.bytes == 4096);
  }
}

TEST_CASE("links that differ from the others have rows, both ways where these agree") {
  Measurements costs = two_stages();
  costs.transfers = ten_messages();
  const auto pair = [](int from, int to, Ticks latency) {
    return cost::MeasuredTransfers::Pair{
        Rank(from),
        Rank(to),
        {{10, 0, 0}, {10, 0, 0}, {10, latency, 0}},
        cost::MeasuredTransfers::Link{
            .fit = {.latency = latency, .bits_per_second = {}}, .overhead = 0, .bytes = 4096}};
  };
  costs.transfers.pairs = {pair(0, 1, kMs / 10),     pair(1, 0, kMs / 10), pair(1, 2, 3 * kMs / 10),
                           pair(2, 1, 3 * kMs / 10), pair(2, 3, kMs / 5),  pair(3, 2, kMs / 10)};
  CHECK(
      file_of(costs).find(
          R"("transfer": {"latency": 0.1, "links": [{"from": 1, "to": 2, "latency": 0.3}, {"from": 2, "to": 3, "latency": 0.2, "oneway": true}]})") !=
      std::string::npos);
  SECTION("by less than chance they do not") {
    // A link's median of ten with a spread of 0.4 ms has an error of 1.25 * 0.4 / 1.35 / sqrt(10) = 0.12 ms.
    for (cost::MeasuredTransfers::Pair& one : costs.transfers.pairs)
      one.samples.transfer.spread = 2 * kMs / 5;
    CHECK(costs_of(costs).transfer.links.empty());
  }
}

TEST_CASE("forwards that ran with backwards of several stages have a time for each pair") {
  Measurements costs = two_stages();
  costs.group = {{2, 5 * kMs, 0}, {1, 6 * kMs, 0}};
  costs.pairs = {{{0, 0}, {1, 4 * kMs, 0}}, {{0, 1}, {1, 5 * kMs, 0}}, {{1, 1}, {1, 6 * kMs, 0}}};
  // Stage 1's forward never ran with stage 0's backward: 2 + 3.
  CHECK(file_of(costs).find(R"("overlapped": {"pairs": [[4.0, 5.0], [5.0, 6.0]]})") != std::string::npos);
}

TEST_CASE("what never ran alone is not written as if it had") {
  Measurements costs = two_stages();
  for (auto& samples : costs.share) samples.resize(2);
  costs.op[index_of(OpKind::Backward)][0] = {};
  costs.share[index_of(OpKind::Backward)][0] = {4, 2 * kMs, 0};
  const auto written = [&] {
    const std::string out = file_of(costs);
    return out;
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
  Measurements costs = two_stages();
  costs.transfers = ten_messages();
  cost::CostSpec rules;
  rules.transfer.model = cost::TransferModel::Async;
  rules.transfer.plan = "ahead";
  rules.transfer.ahead = 2;
  rules.transfer.queue = "per-rank";
  rules.transfer.link.latency = 7 * kMs;
  rules.overlap.emplace();
  rules.overlap->rule = OverlapRule::Sequential;
  const std::string out = file_of(costs, rules);
  CHECK(out.find("\"overlapped\": \"sequential\",\n  \"transfer\": {\"model\": \"async\", \"latency\": 0.1, "
                 "\"queue\": \"per-rank\", \"plan\": \"ahead\", \"ahead\": 2}") != std::string::npos);
  const cost::CostSpec spec = costs_of(costs, rules);
  CHECK(spec.overlap->rule == OverlapRule::Sequential);
  CHECK(spec.transfer.queue == "per-rank");
  CHECK(spec.transfer.link.latency == kMs / 10);
}

}  // namespace pipeloom::study::calibrate::costs_file_test
