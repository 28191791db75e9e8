#include "sim/cost/resolve.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "sim/io/config/config.hpp"
#include "support/catch.hpp"

namespace resolve_test {

using namespace pipeloom;

namespace {

constexpr Ticks kOne = 1'000'000'000;  // ticks in one abstract unit

/// 1F1B-like on two ranks, full backward.
const Schedule& full() {
  static const Schedule schedule = parse_schedule("0F0 0B0 0F1 0B1 | 1F0 1B0 1F1 1B1");
  return schedule;
}
/// The same with the backward split.
const Schedule& split() {
  static const Schedule schedule = parse_schedule("0F0 0I0 0W0 | 1F0 1I0 1W0");
  return schedule;
}
/// Two chunks a rank: stages 0, 2 on rank 0 and 1, 3 on rank 1.
const Schedule& chunked() {
  static const Schedule schedule = parse_schedule("0F0 2F0 2B0 0B0 | 1F0 3F0 3B0 1B0");
  return schedule;
}

cost::ResolvedCosts resolve(const std::string& costs, const Schedule& schedule) {
  const auto doc = io::Document::parse("{\"costs\": " + costs + "}", "c");
  return cost::resolve(io::read_run_config(doc.root(), io::Needs::CostsOnly).costs, schedule);
}

std::string error_of(const std::string& costs, const Schedule& schedule) {
  try {
    (void)resolve(costs, schedule);
  } catch (const InputError& error) {
    return error.line();
  }
  return "accepted";
}

using Four = std::vector<Ticks>;
/// F, B, I, W of stage 0.
Four durations(const std::string& costs, const Schedule& schedule) {
  const auto resolved = resolve(costs, schedule);
  return {resolved.stage_duration[0][0], resolved.stage_duration[1][0], resolved.stage_duration[2][0],
          resolved.stage_duration[3][0]};
}

std::string origin(const cost::ResolvedCosts& resolved, const std::string& key) {
  for (const auto& [path, text] : resolved.origins)
    if (path == key) return text;
  return "";
}

}  // namespace

TEST_CASE("no costs at all are F 1, B 2, I 1, W 1") {
  const auto resolved = resolve("{}", full());
  CHECK(durations("{}", full()) == Four{kOne, 2 * kOne, kOne, kOne});
  CHECK(origin(resolved, "costs.forward") == "default");
  CHECK(resolved.warnings.empty());
}

TEST_CASE("missing durations follow from the others") {
  CHECK(durations(R"({"forward": 1, "backward_input": 3, "backward_weight": 2})", full()) ==
        Four{kOne, 5 * kOne, 3 * kOne, 2 * kOne});
  CHECK(durations(R"({"forward": 1, "backward": 5, "backward_weight": 2})", split()) ==
        Four{kOne, 5 * kOne, 3 * kOne, 2 * kOne});
  CHECK(durations(R"({"forward": 1, "backward": 5, "backward_input": 3})", split()) ==
        Four{kOne, 5 * kOne, 3 * kOne, 2 * kOne});
  // Only B: W = floor(B / 2) in ticks. 5e-9 is 5 ticks: W 2, I 3.
  CHECK(durations(R"({"forward": 1, "backward": 0.000000005})", split()) == Four{kOne, 5, 3, 2});
  // All four stand as given; a fused B may be cheaper than I + W.
  CHECK(durations(R"({"forward": 1, "backward": 4, "backward_input": 3, "backward_weight": 2})", split()) ==
        Four{kOne, 4 * kOne, 3 * kOne, 2 * kOne});
}

TEST_CASE("what was derived is said") {
  const auto resolved = resolve(R"({"forward": 1, "backward": 5, "backward_weight": 2})", split());
  CHECK(origin(resolved, "costs.backward_input") == "derived: backward - backward_weight");
  CHECK(origin(resolved, "costs.backward").empty());
}

TEST_CASE("PyTorch's first stage does nothing in I, and all of it in W") {
  const std::string given =
      R"({"forward": 1, "backward_input": 2, "backward_weight": 3, "first_stage": "torch"})";
  const auto resolved = resolve(given, split());
  CHECK(resolved.stage_duration[index_of(OpKind::BackwardInput)] == Four{0, 2 * kOne});
  CHECK(resolved.stage_duration[index_of(OpKind::BackwardWeight)] == Four{5 * kOne, 3 * kOne});
  CHECK(resolved.costs.duration[index_of(OpKind::BackwardWeight)] == Four{5 * kOne, 3 * kOne});
  CHECK(durations(given, split())[1] == 5 * kOne);  // B stays I + W
  CHECK(origin(resolved, "costs.first_stage") == "stage 0: nothing in I, I and W in W");
  // What a report says of it gives the same again: I is nothing already.
  CHECK(
      durations(
          R"({"forward": 1, "backward": 5, "backward_input": [0, 2], "backward_weight": [5, 3], "first_stage": "torch"})",
          split()) == Four{kOne, 5 * kOne, 0, 5 * kOne});
  CHECK(durations(R"({"forward": 1, "backward_input": 2, "backward_weight": 3, "first_stage": "full"})",
                  split()) == Four{kOne, 5 * kOne, 2 * kOne, 3 * kOne});
  CHECK(error_of(R"({"first_stage": "last"})", split()).find("full") != std::string::npos);
}

TEST_CASE("costs that do not suffice name the key") {
  CHECK(error_of(R"({"forward": 1})", full()) ==
        "c:1:11: error: costs.backward is missing, but other costs are given and the schedule has B ops; "
        "give it, or "
        "costs.backward_input and costs.backward_weight");
  CHECK(error_of(R"({"backward": 2})", full()) ==
        "c:1:11: error: costs.forward is missing, but other costs are given and the schedule has F ops; give "
        "it");
  CHECK(error_of(R"({"forward": 1, "backward_input": 1})", split()) ==
        "c:1:11: error: costs.backward_weight is missing, but other costs are given and the schedule has W "
        "ops; give it, or "
        "costs.backward");
  CHECK(error_of(R"({"forward": 1, "backward": 2, "backward_input": [1, 3]})", split()) ==
        "c:1:59: error: on stage 1 costs.backward_input = 3.0 is more than costs.backward = 2.0, which "
        "leaves a negative "
        "costs.backward_weight; give costs.backward_weight too, or make it smaller");
  CHECK(error_of(R"({"forward": [1, 1, 1], "backward": 2})", full()) ==
        "c:1:23: error: costs.forward has 3 entries, but the schedule has 2 stages; give one entry per "
        "stage, or in "
        "costs.layers the layers of each of these (`calibrate --layers`)");
  CHECK(error_of(R"({"forward": {"default": 1, "stages": {"2": 1}}, "backward": 2})", full()) ==
        "c:1:49: error: costs.forward names stage 2, but the schedule's stages are 0 to 1");
  CHECK(
      error_of(R"({"forward": {"stages": {"0": 1}}, "backward": 2})", full()) ==
      "c:1:23: error: costs.forward says nothing about stage 1; add it to \"stages\" or give a \"default\"");
  CHECK(
      error_of(R"({"rank_scale": [1, 2, 3]})", full()) ==
      "c:1:26: error: costs.rank_scale has 3 entries, but the schedule has 2 ranks; give one entry for each");
  CHECK(error_of(R"({"microbatch_scale": [1]})", full()) ==
        "c:1:32: error: costs.microbatch_scale has 1 entries, but the schedule has 2 microbatches; give one "
        "entry for each");
  CHECK(
      error_of(R"({"per": "model", "forward": [1, 1], "backward": 2})", full()).find("divides one number") !=
      std::string::npos);
}

TEST_CASE("a forward-only schedule needs no backward") {
  const Schedule forwards = forward_only(full());
  CHECK(durations(R"({"forward": 3})", forwards) == Four{3 * kOne, 0, 0, 0});
}

TEST_CASE("per rank divides by the chunks and keeps the sum") {
  // 0.000000005 is 5 ticks for two chunks: 3 for the first, 2 for the second.
  const auto resolved = resolve(R"({"per": "rank", "forward": 0.000000005, "backward": 4})", chunked());
  CHECK(resolved.stage_duration[0] == std::vector<Ticks>{3, 3, 2, 2});
  CHECK(resolved.stage_duration[1] == std::vector<Ticks>{2 * kOne, 2 * kOne, 2 * kOne, 2 * kOne});
  // One entry per rank: rank 0 has stages 0 and 2.
  const auto by_rank = resolve(R"({"per": "rank", "forward": [2, 4], "backward": 4})", chunked());
  CHECK(by_rank.stage_duration[0] == std::vector<Ticks>{kOne, 2 * kOne, kOne, 2 * kOne});
}

TEST_CASE("per model divides by the stages, remainder to the first") {
  // 6 ticks over four stages: 2, 2, 1, 1.
  const auto resolved = resolve(R"({"per": "model", "forward": 0.000000006, "backward": 8})", chunked());
  CHECK(resolved.stage_duration[0] == std::vector<Ticks>{2, 2, 1, 1});
  CHECK(resolved.stage_duration[1][3] == 2 * kOne);
}

TEST_CASE("rank_scale slows the ops of a rank, not its transfers") {
  const auto resolved =
      resolve(R"({"forward": 2, "backward": 4, "rank_scale": [1, 1.5], "transfer": {"latency": 1}})", full());
  CHECK(resolved.costs.duration[0] == std::vector<Ticks>{2 * kOne, 3 * kOne});
  CHECK(resolved.costs.duration[1] == std::vector<Ticks>{4 * kOne, 6 * kOne});
  CHECK(resolved.costs.forward_delay == std::vector<Ticks>{0, kOne});
  CHECK(resolved.stage_duration[0] == std::vector<Ticks>{2 * kOne, 2 * kOne});
}

TEST_CASE("factors may be tables, of ranks, stages and microbatches") {
  const auto with = [](const std::string& more) {
    return resolve(R"({"forward": 10, "backward": 20, )" + more + "}", chunked());
  };
  const std::size_t forward = index_of(OpKind::Forward);
  // Rank 1 holds stages 1 and 3; slots are stages here.
  const std::vector<Ticks> slow_rank = {10 * kOne, 11 * kOne, 10 * kOne, 11 * kOne};
  CHECK(with(R"("rank_scale": {"default": 1, "ranks": {"1": 1.1}})").costs.duration[forward] == slow_rank);
  CHECK(with(R"("rank_scale": {"1": 1.1})").costs.duration[forward] ==
        slow_rank);  // of --set costs.rank_scale.1=1.1
  const std::vector<Ticks> slow_stage = {5 * kOne, 5 * kOne, 20 * kOne, 5 * kOne};
  CHECK(with(R"("stage_scale": {"default": 0.5, "stages": {"2": 2}})").costs.duration[forward] == slow_stage);
  CHECK(with(R"("stage_scale": [0.5, 0.5, 2, 0.5])").costs.duration[forward] == slow_stage);
  CHECK(with(R"("microbatch_scale": {"microbatches": {"0": 3}})").costs.microbatch_scale ==
        std::vector<Scale>{3 * kUnitScale});
  CHECK(error_of(R"({"rank_scale": {"ranks": {"2": 1.1}}})", chunked()) ==
        "c:1:37: error: costs.rank_scale names rank 2, but the schedule's ranks are 0 to 1");
  CHECK(error_of(R"({"rank_scale": {"stages": {"2": 1.1}}})", chunked()) ==
        "c:1:27: error: unknown key of costs.rank_scale 'stages'; valid: default, ranks");
}

TEST_CASE("a hop takes latency + bytes / bandwidth, nothing within a rank") {
  // 1000 bytes at 8e9 bit/s: 8000 bits / 8e9 = 1 us = 1e6 ps; latency 2 us.
  const auto costs =
      resolve(
          R"({"time_unit": "us", "forward": 1, "backward": 2, "transfer": {"latency": 2, "bytes": 1000, "bandwidth_gbps": 8}})",
          full())
          .costs;
  CHECK(costs.forward_delay == std::vector<Ticks>{0, 3'000'000});
  CHECK(costs.backward_delay == std::vector<Ticks>{3'000'000, 0});
  // A V on two ranks: stages 1 and 2 share rank 1.
  const Schedule v = parse_schedule("0F0 3F0 3B0 0B0 | 1F0 2F0 2B0 1B0");
  const auto vee = resolve(R"({"transfer": {"latency": 2}})", v).costs;
  CHECK(vee.forward_delay == std::vector<Ticks>{0, 2 * kOne, 0, 2 * kOne});
  CHECK(vee.backward_delay == std::vector<Ticks>{2 * kOne, 0, 2 * kOne, 0});
}

TEST_CASE("hops between nodes may differ from hops within") {
  const Schedule line = parse_schedule("0F0 0B0 | 1F0 1B0 | 2F0 2B0");
  // Nodes of two ranks: 0 and 1 together, 2 alone.
  const auto costs =
      resolve(R"({"transfer": {"latency": 5, "ranks_per_node": 2, "intra": {"latency": 1}}})", line).costs;
  CHECK(costs.forward_delay == std::vector<Ticks>{0, kOne, 5 * kOne});
}

TEST_CASE("explicit group durations below the longest part are taken with a warning") {
  const Schedule pair = parse_schedule("0F0 (0F1;0B0)OVERLAP_F_B 0B1");
  const auto resolved = resolve(R"({"forward": 1, "backward": 2, "overlapped": 1.5})", pair);
  CHECK(resolved.costs.overlap.duration == std::vector<Ticks>{kOne + kOne / 2});
  REQUIRE(resolved.warnings.size() == 1);
  CHECK(resolved.warnings[0] ==
        "c:1:55: costs.overlapped makes groups shorter than their longest part: "
        "0F with 0B lasts 1.5, its longest part 2.0");
  CHECK(resolve(R"({"forward": 1, "backward": 2, "overlapped": 2})", pair).warnings.empty());
  // A time of its own makes a group long enough, or too short.
  const auto with_own = [&](const char* usual, const char* own) {
    return resolve(fmt::format(R"({{"forward": 1, "backward": 2, "overlapped": {},
                                    "exceptions": [{{"microbatch": 1, "overlapped": {}}}]}})",
                               usual, own),
                   pair)
        .warnings;
  };
  CHECK(with_own("1.5", "2").empty());
  CHECK(with_own("2", "1.5") ==
        std::vector<std::string>{"costs.exceptions makes groups shorter than their longest part: "
                                 "0F with 0B lasts 1.5, its longest part 2.0"});
}

TEST_CASE("results that overflow are refused") {
  CHECK(error_of(R"({"forward": 4e9, "backward": 1, "rank_scale": [1, 2]})", full()).find("overflow") !=
        std::string::npos);
  CHECK(error_of(R"({"forward": 4e9, "backward": 1, "microbatch_scale": [1, 2]})", full()).find("overflow") !=
        std::string::npos);
  CHECK(
      error_of(R"({"forward": 1, "backward_input": 4e9, "backward_weight": 4e9})", full()).find("overflow") !=
      std::string::npos);
  CHECK(error_of(R"({"time_unit": "ms", "transfer": {"bytes": 4e18, "bandwidth_gbps": 0.000000001}})", full())
            .find("overflow") != std::string::npos);
}

TEST_CASE("memory numbers spread over stages") {
  const auto doc = io::Document::parse(
      R"({"memory": {"activation_bytes": [10, 20], "released_at_input": {"default": 5, "stages": {"1": 20}},
      "logits_bytes": 7, "limit_bytes": 100}})",
      "c");
  const auto model =
      cost::resolve_memory(io::read_run_config(doc.root(), io::Needs::CostsOnly).memory, full().placement());
  CHECK(model.activation == std::vector<Bytes>{10, 20});
  CHECK(model.released_at_input == std::vector<Bytes>{5, 20});
  CHECK(model.logits == std::vector<Bytes>{0, 7});
  CHECK(model.limit == std::vector<Bytes>{100, 100});
}

TEST_CASE("a memory limit is one number for all ranks, or one for each") {
  const auto limit_of = [](const std::string& limit) {
    const auto doc = io::Document::parse(R"({"memory": {"limit_bytes": )" + limit + "}}", "c");
    return cost::resolve_limit(io::read_run_config(doc.root(), io::Needs::CostsOnly).memory, 2);
  };
  CHECK(limit_of("null").empty());
  CHECK(limit_of("[80, 72]") == std::vector<Bytes>{80, 72});
  CHECK_THROWS_WITH(limit_of("[80]"),
                    "memory.limit_bytes has 1 entries, but the schedule has 2 ranks; give one "
                    "number for all of them, or one entry for each");
}

TEST_CASE("more cannot be released than is held") {
  const auto doc = io::Document::parse(R"({"memory": {"released_at_input": 2}})", "c");
  try {
    (void)cost::resolve_memory(io::read_run_config(doc.root(), io::Needs::CostsOnly).memory,
                               full().placement());
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK(error.line() ==
          "c:1:34: error: on stage 0 memory.released_at_input = 2 is more than memory.activation_bytes = 1; "
          "it is the part of "
          "the activations that the end of I frees");
  }
}

}  // namespace resolve_test
