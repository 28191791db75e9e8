// Blocks that the frameworks themselves ran (tests/golden/targets/plans.json, layouts.json): the same plans give the same blocks and orders
// here.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "schedules/generator.hpp"
#include "sim/io/config/config.hpp"
#include "study/document/sha256.hpp"
#include "study/run/assignments.hpp"
#include "study/run/evaluate.hpp"
#include "study/targets/verdict.hpp"
#include "support/catch.hpp"

namespace pipeloom::plans_test {
namespace {

nlohmann::json cases_of(const std::string& file) {
  std::ifstream in(std::string(PIPELOOM_GOLDEN_DIR) + "/targets/" + file);
  REQUIRE(in.good());
  return nlohmann::json::parse(in).at("cases");
}

/// The first 16 hex digits of the SHA-256.
std::string digest_of(const std::string& text) {
  const auto bytes = study::page::sha256(text);
  return fmt::format("{:02x}", fmt::join(bytes.begin(), bytes.begin() + 8, ""));
}

std::string text_of(const Schedule& order) {
  std::string text;
  for (Rank rank{0}; rank < Rank(order.ranks()); ++rank)
    text += (rank == Rank{0} ? "" : "\n") + queue_text(order, rank);
  return text;
}

std::shared_ptr<const Schedule> order_of(const nlohmann::json& rows) {
  std::string text;
  for (const nlohmann::json& row : rows) text += (text.empty() ? "" : " | ") + row.get<std::string>();
  return std::make_shared<const Schedule>(parse_schedule(text));
}

/// What was planned. A searched order comes from its rows, and everything beside it from a run of as many chunks.
study::Deployment deployed(const nlohmann::json& one) {
  study::Assignments assignments;
  for (const auto& [key, value] : one["config"].items()) assignments[key] = value.dump();
  std::shared_ptr<const Schedule> order;
  if (one.contains("rows")) {
    order = order_of(one["rows"]);
    assignments["schedule"] = "\"looped-bfs\"";
    assignments["ranks"] = std::to_string(order->ranks());
    assignments["microbatches"] = std::to_string(order->microbatches());
  }
  const io::Config config = study::config_of(assignments);
  const Run run = study::evaluate(config, {}, study::Depth::Metrics);
  const std::string name =
      order != nullptr ? std::string(io::kCustomSchedule) : schedules::find(config.schedule).generator->name;
  study::Deployment out = study::deployment_of(run, config, name);
  if (order != nullptr) out.order = order;
  return out;
}

/// The block and the order of one case are those that its plan gives.
void compare(const nlohmann::json& one) {
  INFO(one.dump()
       << "\nwhere a block was changed, scripts/test_targets.sh --record gives it to the framework");
  CHECK(one["verdict"] == "runs");
  const study::Deployment deployment = deployed(one);
  const study::TargetVerdict verdict =
      study::verdict_of(study::target_named(one["target"].get<std::string>()), deployment);
  REQUIRE(verdict.taken());
  CHECK(verdict.own_layers.empty());
  CHECK(digest_of(verdict.to_run.text) == one["text"].get<std::string>());
  if (!deployment.order->is_extended())
    CHECK(digest_of(text_of(*deployment.order)) == one["order"].get<std::string>());
}

}  // namespace

TEST_CASE("every block that a framework ran is the one that its plan gives, and so is the order") {
  std::map<std::string, int> compared;
  int searched = 0;
  for (const nlohmann::json& one : cases_of("plans.json")) {
    const bool is_searched = one["config"]["schedule"] == io::kCustomSchedule;
    if (is_searched && !one.contains("rows")) continue;  // too long an order to be kept
    compare(one);
    ++compared[one["target"].get<std::string>()];
    searched += is_searched ? 1 : 0;
  }
  // 51 sizes of costs alone, 51 of a model; AReaL runs no step of fewer microbatches than ranks, and searched orders come on top.
  CHECK(compared["megatron-core-0.19.2"] >= 2 * 51);
  CHECK(compared["areal-1.0.4"] >= 2 * 42);
  CHECK(compared["torch-2.15"] > 51);
  CHECK(compared["torchtitan-0.3.0"] > 51);
  CHECK(searched >= 40);
}

TEST_CASE("every row of a plan of whole layouts has the block that its framework ran") {
  std::map<std::string, int> compared;
  for (const nlohmann::json& one : cases_of("layouts.json")) {
    compare(one);
    ++compared[one["target"].get<std::string>()];
  }
  CHECK(compared["megatron-core-0.19.2"] >= 100);
  CHECK(compared["torchtitan-0.3.0"] >= 80);
}

}  // namespace pipeloom::plans_test
