#include "study/run/evaluate.hpp"

#include <nlohmann/json.hpp>

#include <sstream>
#include <string>
#include <utility>

#include <pipeloom/schedule.hpp>
#include "schedules/generator.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/io/json/json_value.hpp"
#include "study/report/metric.hpp"
#include "study/report/report.hpp"
#include "study/report/run_tables.hpp"
#include "support/catch.hpp"
#include "support/run_config.hpp"

namespace evaluate_test {

using namespace pipeloom;
using Json = nlohmann::ordered_json;
using test::config_of;

namespace {

Run run(const std::string& text) {
  return study::evaluate(config_of(text));
}

std::string report_text(const Run& evaluation, const study::ReportParts& parts = {}) {
  std::ostringstream out;
  study::write_report(out, evaluation, parts);
  return out.str();
}

std::string error_of(const std::string& text, const Limits& limits = {}) {
  try {
    (void)study::evaluate(config_of(text), limits);
  } catch (const Error& error) {
    return error.line();
  }
  return "accepted";
}

constexpr const char* kSeed = R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8})";

}  // namespace

TEST_CASE("the bound of a run is about orders that keep its memory limit") {
  const auto bound_of = [](const std::string& schedule, int limit) {
    const std::string text = R"({"schedule": ")" + schedule +
                             R"(", "ranks": 2, "microbatches": 3, "costs": {"forward": 1, "backward_input": 1,
      "backward_weight": 1}, "memory": {"activation_bytes": 2, "released_at_input": 1, "static_bytes": 10,
      "limit_bytes": )" + std::to_string(limit) +
                             "}}";
    const auto bound = run(text).metrics->lower_bound;
    return std::pair(bound.value / kUnitScale, bound.name);
  };
  // Room for one microbatch on rank 0: F0 F1 I1 I0 W0 one after another, three times.
  CHECK(bound_of("zb-auto", 12) == std::pair(Ticks{15}, std::string("slots")));
  // This order does not keep the limit, so orders without one are asked about: h_1 = 1 and 9 of work on rank 1.
  CHECK(bound_of("zb-h1", 12).first == 10);
}

TEST_CASE("1F1B with the default costs") {
  // (m + p - 1)(F + B) = 11 * 3 = 33; work per rank 8 * 3 = 24; overhead (p - 1) / m = 0.375.
  const auto evaluation = run(kSeed);
  const Json report = Json::parse(report_text(evaluation, {true, true}));
  CHECK(report["makespan"] == 33.0);
  CHECK(report["ideal_time"] == 24.0);
  CHECK(report["bubble_overhead"] == 0.375);
  CHECK(report["lower_bound"]["value"] == 33.0);
  CHECK(report["num_ops"] == 64);
  CHECK(report["ranks"][0]["peak_live"] == 4);
  CHECK(report["critical_path"]["length"] == 33.0);
  CHECK(report["orders"][3][1] == "3B0");
  CHECK(report["timeline"].size() == 64);
  CHECK(report["timeline"][0] == Json::parse(R"({"rank": 0, "op": "0F0", "start": 0.0, "end": 1.0})"));
}

TEST_CASE("costs of a measured 1F1B predict its interleaved run, and the report gives that run again") {
  // Two chunks of half a stage each: (m v + p - 1)(F + B) = (4 * 2 + 1) * (1 + 2) = 27 in halves of 2 and 4.
  const char* const kCosts = R"("costs": {"layers": [6, 6], "forward": [2, 2], "backward": [4, 4]})";
  const auto text = [&](const std::string& schedule) {
    return R"({"schedule": ")" + schedule + R"(", "ranks": 2, "microbatches": 4, )" + kCosts + "}";
  };
  CHECK(Json::parse(report_text(run(text("1f1b"))))["makespan"] == 30.0);  // (m + p - 1)(F + B)
  const Json report = Json::parse(report_text(run(text("interleaved-1f1b"))));
  CHECK(report["makespan"] == 27.0);
  const Json& config = report["config"];
  CHECK(config["costs"]["layers"] == Json::parse("[3, 3, 3, 3]"));
  CHECK(config["costs"]["forward"] == 1.0);  // on every stage
  CHECK(config["origin"]["costs.layers"] == "dealt out from 2 stages");
  CHECK(config["origin"]["costs.backward"] == "dealt out from 2 stages");
  CHECK(Json::parse(report_text(run(config.dump())))["makespan"] == 27.0);
}

TEST_CASE("the report's keys come in the documented order") {
  const Json report = Json::parse(report_text(run(kSeed), {true, true}));
  std::vector<std::string> keys;
  for (const auto& [key, value] : report.items()) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"schema_version",
                                         "tool",
                                         "config",
                                         "time_unit",
                                         "makespan",
                                         "step_time",
                                         "steady_period",
                                         "ideal_time",
                                         "max_window",
                                         "lower_bound",
                                         "bubble_ratio",
                                         "bubble_overhead",
                                         "window_bubble_ratio",
                                         "num_ops",
                                         "num_entries",
                                         "memory",
                                         "ranks",
                                         "roots",
                                         "critical_path",
                                         "orders",
                                         "timeline"});
  keys.clear();
  for (const auto& [key, value] : report["ranks"][0].items()) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"rank", "stages", "busy", "idle", "first_start", "last_end",
                                         "peak_live", "peak_activation_bytes", "idle_causes"});
}

TEST_CASE("times are exact decimal text and equal inputs give equal bytes") {
  const char* text = R"({"schedule": "1f1b", "ranks": 2, "microbatches": 3,
      "costs": {"time_unit": "ms", "forward": 0.1, "backward": 0.2}})";
  const std::string report = report_text(run(text), {true, true});
  // (3 + 2 - 1) * 0.3 = 1.2. Rank 0: F0, F1 until 0.2, waits for rank 1 until 0.4, B0 until 0.6, then F2.
  CHECK(report.find("\n  \"makespan\": 1.2,\n") != std::string::npos);
  CHECK(report.find("{\"rank\": 0, \"op\": \"0F2\", \"start\": 0.6, \"end\": 0.7}") != std::string::npos);
  CHECK(report == report_text(run(text), {true, true}));
}

TEST_CASE("the effective configuration spells out every default and its origin") {
  const Json config =
      Json::parse(report_text(run(R"({"schedule": "Interleaved1F1B", "ranks": 4, "microbatches": 8,
      "costs": {"forward": 1, "backward": 3, "backward_weight": 1}})")))["config"];
  CHECK(config["schedule"] == "interleaved-1f1b");
  CHECK(config["chunks"] == 2);
  CHECK(config["options"]["group_size"] == 4);
  CHECK(config["costs"]["backward_input"] == 2.0);
  CHECK(config["costs"]["transfer"]["latency"] == 0.0);
  CHECK(config["memory"]["limit_bytes"] == nullptr);
  CHECK(config["origin"]["costs.backward_input"] == "derived: backward - backward_weight");
  CHECK(config["origin"]["options.group_size"] == "default of Interleaved1F1B");
  CHECK(config["origin"]["step.rule"] == "default");
  CHECK_FALSE(config["origin"].contains("costs.forward"));
}

TEST_CASE("the effective configuration gives the same run again") {
  for (
      const char* text :
      {kSeed,
       R"({"schedule": "dualpipe-v", "ranks": 2, "microbatches": 5, "costs": {"time_unit": "us", "per": "rank",
             "forward": 1.000001, "backward_input": 2, "backward_weight": [0.5, 0.7], "overlapped": 3.3, "rank_scale": [1, 1.25],
             "transfer": {"latency": 0.25, "bytes": 1000, "bandwidth_gbps": 400, "ranks_per_node": 1, "inter": {"latency": 2}}},
             "memory": {"activation_bytes": [5, 6, 7, 8], "logits_bytes": 3}, "step": {"rule": "post-validation", "optimizer": 1, "count": 2}})",
       R"({"schedule": "gis-h", "ranks": 4, "microbatches": 8})",
       R"({"schedule": "grouped-interleaved", "ranks": 5, "microbatches": 8, "options": {"variant": "gis-h"}})",
       R"({"schedule": "1f1b-overlap", "ranks": 4, "microbatches": 8, "costs": {"forward": 1, "backward": 2, "overlapped": {"factor": 0.8}}})",
       R"({"schedule": "1f1b", "ranks": 4, "microbatches": 9, "options": {"recompute": {"keep": 1}, "offload": {"chunks": 1, "prefetch": 2}},
           "costs": {"forward": 1, "backward": 2, "recompute": 0.75, "offload": 0.5, "reload": 0.25},
           "memory": {"activation_bytes": 10, "stash_bytes": 2}})"}) {
    const std::string first = report_text(run(text), {true, true});
    const std::string config = Json::parse(first)["config"].dump();
    const Json again = Json::parse(report_text(run(config), {true, true}));
    Json once = Json::parse(first);
    INFO(config);
    once["config"]["origin"] = again["config"]["origin"];
    CHECK(once.dump() == again.dump());
  }
}

TEST_CASE("the parameters' own refusals carry their place") {
  CHECK(error_of(R"({"schedule": "1f1", "ranks": 4, "microbatches": 8})").substr(0, 34) ==
        "c:1:14: error: unknown schedule '1");
  CHECK(error_of(R"({"schedule": "dualpipe", "ranks": 3, "microbatches": 8})").substr(0, 36) ==
        "c:1:14: error: dualpipe needs an eve");
  CHECK(error_of(R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8, "options": {"group_size": 2}})") ==
        "c:1:79: error: options.group_size is given, but 1f1b has no groups of microbatches; leave it out");
}

TEST_CASE("runs that are too large are refused before anything is allocated") {
  Limits limits;
  limits.max_memory = 1e9;
  const std::string line =
      error_of(R"({"schedule": "1f1b", "ranks": 1048576, "microbatches": 1048576})", limits);
  // 2 ops for each of 2^40 pairs, 8 + 8 + 16 bytes each: 2^41 * 32 = 64 TiB; 1.5 KiB for each of 2^20 stages is nothing beside.
  CHECK(line ==
        "error: 1f1b with ranks = 1048576, chunks = 1, microbatches = 1048576 (2.2e+12 ops) would need about "
        "70.4 TB (64.0 TiB), more than the 1.0 GB (953.7 MiB) allowed; make it smaller or raise "
        "--max-memory");
  CHECK(error_of(R"({"schedule": "interleaved-1f1b", "ranks": 1048576, "microbatches": 1, "chunks": 2})") ==
        "c:1:81: error: ranks * chunks = 2097152 stages; at most 1048576 are allowed: take fewer");
}

TEST_CASE("steps that nobody looks at are neither simulated nor counted") {
  // 4 ops per step. All 2^20 steps: 4 (8 + 32 + 16 2^20 + 128) + 1536 bytes, 67 MB; the first alone: 2.3 kB.
  const std::string many =
      R"({"schedule": "1f1b", "ranks": 1, "microbatches": 2, "costs": {"forward": 1, "backward": 2},
      "step": {"optimizer": 1, "count": 1048576}})";
  Limits limits;
  limits.max_memory = 1e6;
  CHECK(
      error_of(many, limits) ==
      "error: 1f1b with ranks = 1, chunks = 1, microbatches = 2 (4 ops, 1048576 steps) would need about 67.1 "
      "MB (64.0 MiB), more than the 1.0 MB (976.6 KiB) allowed; make it smaller or raise --max-memory");
  limits.with_all_steps = false;
  const auto first = study::evaluate(config_of(many), limits);
  CHECK(first.timeline.steps == 1);
  CHECK(first.effective->step.count == 1048576);
  CHECK(first.metrics->step_time == 7'000'000'000);
  // What all of them would pass is refused as before: 1048576 * (5000 + 1) > 2^62 / 1e9 = 4.6e9.
  CHECK(
      error_of(
          R"({"schedule": "1f1b", "ranks": 1, "microbatches": 1, "costs": {"forward": 2000, "backward": 3000},
      "step": {"optimizer": 1, "count": 1048576}})",
          limits)
          .find("add up to more than 2^62 ticks") != std::string::npos);
}

TEST_CASE("an evaluation that is not wanted any more ends between two passes") {
  // Made, simulated (the engine asks before it begins), measured, bounded; after the critical path nothing is left to ask for.
  constexpr int kBetween = 5;
  for (int wanted = 1; wanted <= kBetween; ++wanted) {
    int asked = 0;
    Limits limits;
    limits.stop = [&] { return ++asked == wanted; };
    CHECK_THROWS_AS(study::evaluate(config_of(kSeed), limits), Stopped);
    CHECK(asked == wanted);
  }
  int asked = 0;
  Limits limits;
  limits.stop = [&] { return ++asked > kBetween; };
  CHECK(study::evaluate(config_of(kSeed), limits).critical_path.has_value());
  CHECK(asked == kBetween);
}

TEST_CASE("files that nobody could read back are refused before anything is simulated") {
  Limits limits;
  limits.max_memory = 1e12;
  limits.text_per_time = 50;
  // 2 ops for each of 2^26 pairs, 50 bytes of text each: 6.7e9 bytes.
  CHECK(error_of(R"({"schedule": "1f1b", "ranks": 8192, "microbatches": 8192})", limits) ==
        "error: 1f1b with ranks = 8192, chunks = 1, microbatches = 8192 (1.34e+08 ops) would fill a file of "
        "about "
        "6.7 GB (6.2 GiB); at most 2.1 GB (2.0 GiB) are written, as no more is read: take fewer steps, "
        "microbatches "
        "or ranks, or draw a picture");
}

TEST_CASE("a limit is told as the table tells memory") {
  // Nobody gave sizes, and times are for all of a rank's layers: each of its two stages holds half an activation. Rank 0 begins with 11
  // forwards, of which the seventh makes 3.5.
  const auto evaluation = run(R"({"schedule": "interleaved-1f1b", "ranks": 4, "microbatches": 8, "chunks": 2,
      "costs": {"per": "rank", "forward": 1, "backward": 2}, "memory": {"limit_bytes": 3}})");
  REQUIRE(evaluation.over_limit);
  CHECK(study::over_limit_text(*evaluation.over_limit, *evaluation.memory)
            .starts_with(
                "over the memory limit: rank 0 needs 3.5 activations of a stage at 4F2, the limit is 3 "
                "activations of a stage; "));
  CHECK(Json::parse(report_text(evaluation))["memory"]["over_limit"]["bytes"] == 3.5);
}

TEST_CASE("more memory than the limit is in the report") {
  // Rank 0 of 1F1B holds 4 activations of 10 bytes; the third does not fit into 25.
  const auto evaluation = run(R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8,
      "memory": {"activation_bytes": 10, "limit_bytes": 25}})");
  REQUIRE(evaluation.over_limit);
  const Json report = Json::parse(report_text(evaluation));
  CHECK(report["memory"] == Json::parse(R"({"peak_bytes": 40, "peak_rank": 0,
      "over_limit": {"rank": 0, "op": "0F2", "bytes": 30, "limit": 25}})"));
}

TEST_CASE("rows of several steps are numbered") {
  const Json report = Json::parse(report_text(
      run(R"({"schedule": "gpipe", "ranks": 1, "microbatches": 1, "step": {"optimizer": 1, "count": 2}})"),
      {false, true}));
  // F 1 and B 2, the optimizer 1: the second step begins at 4.
  CHECK(report["step_time"] == 4.0);
  CHECK(report["timeline"][2] ==
        Json::parse(R"({"step": 1, "rank": 0, "op": "0F0", "start": 4.0, "end": 5.0})"));
}

TEST_CASE("a schedule file with costs") {
  const auto schedule = std::make_shared<const Schedule>(parse_schedule("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1"));
  const auto config = io::read_run_config(
      io::Document::parse(R"({"costs": {"forward": 1, "backward": 2}})", "c").root(), io::Needs::CostsOnly);
  const auto evaluation = study::evaluate_schedule(schedule, "o.csv", config);
  // 1F1B on two ranks with two microbatches: (2 + 1) * 3.
  CHECK(study::text_of(study::find_metric("makespan"), evaluation) == "9.0");
  CHECK(evaluation.effective->schedule == "o.csv");
  const auto hanging = std::make_shared<const Schedule>(parse_schedule("0F0 0B0 0F1 0B1 | 1F1 1B1 1F0 1B0"));
  CHECK_THROWS_AS(study::evaluate_schedule(hanging, "o.csv", config), ScheduleError);
}

TEST_CASE("every metric has a text that reads as a number") {
  const auto evaluation = run(kSeed);
  for (const auto& metric : study::asked_metrics()) {
    INFO(metric.name);
    // No limit, no model.
    if (metric.sometimes)
      CHECK(study::text_of(metric, evaluation) == study::kNoValue);
    else
      CHECK_NOTHROW(std::stod(study::text_of(metric, evaluation)));
  }
}

TEST_CASE("bytes that do not add up are refused with the place of most of them") {
  // 8 chunks of 2^62 - 1 bytes on a rank: 2^65.
  CHECK(error_of(R"({"schedule": "interleaved-1f1b", "ranks": 2, "microbatches": 8, "chunks": 8,
 "memory": {"static_bytes": 4611686018427387903}})") ==
        "c:2:29: error: the bytes that rank 0 could hold add up to 3.69e+19, most of them "
        "memory.static_bytes; less than 2^62 "
        "(4.6e18) can be counted; use smaller numbers, or fewer microbatches or stages per rank");
  // 16 microbatches of 1e18.
  CHECK(error_of(
            R"({"schedule": "1f1b", "ranks": 2, "microbatches": 16, "memory": {"activation_bytes": 1e18}})")
            .find("1.6e+19, most of them memory.activation_bytes") != std::string::npos);
  // A message forward and one back for each of 4 microbatches, on each of 3 steps: 2 * 4 * 3 * 2e17 = 4.8e18.
  const std::string messages = R"({"schedule": "1f1b", "ranks": 2, "microbatches": 4,
 "memory": {"receive_bytes": 2e17}, "step": {"count": )";
  CHECK(error_of(messages + "3}}").find("most of them memory.receive_bytes") != std::string::npos);
  CHECK(error_of(messages + "2}}") == "accepted");
  // What fits is exact: a rank holds its static bytes and at most 2 activations.
  const auto fits = run(R"({"schedule": "1f1b", "ranks": 2, "microbatches": 8,
 "memory": {"static_bytes": 4611686018427387000, "activation_bytes": 100}})");
  CHECK(fits.metrics->ranks[0].memory.peak_bytes == 4'611'686'018'427'387'200);
}

TEST_CASE("the report's orders are as files write them: a pair that runs in turn is one entry") {
  // One rank is the last stage: each forward is followed by its own backward.
  const Run fused = run(R"({"schedule": "jaxpp-interleaved-1f1b-fused", "ranks": 2, "microbatches": 2,
 "chunks": 1})");
  const Json report = Json::parse(report_text(fused, {.orders = true}));
  CHECK(report["orders"][1] == Json({"(1F0;1B0)OVERLAP_F_B", "(1F1;1B1)OVERLAP_F_B"}));
}

TEST_CASE("times of messages that pass 2^62 ticks are refused") {
  for (const char* model : {"async", "link", "blocking"})
    CHECK(error_of(
              std::string(R"({"schedule": "gpipe", "ranks": 2, "microbatches": 4, "costs": {"time_unit": "s",
 "forward": 1, "backward": 1, "transfer": {"model": ")") +
              model + R"(", "latency": 4e6}}})")
              .find("2^62") != std::string::npos);
}

}  // namespace evaluate_test
