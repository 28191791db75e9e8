// Recorded orders, times and memory of the zero-bubble family, and the bubble rates its paper prints.

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "schedules/recorded.hpp"
#include "sim/metrics.hpp"
#include "sim/text.hpp"
#include "support/catch.hpp"

namespace pipeloom {
namespace {

/// The recorded case's parameters. 1F1B-I, GIS and GIS-H say how large their groups are, or mean p.
schedules::Params params_of(const nlohmann::json& one) {
  schedules::Params params{.ranks = one["p"], .microbatches = one["m"], .chunks = one["v"]};
  if (one.contains("group")) params.group_size = one["group"];
  return params;
}

Costs costs_of(const nlohmann::json& one, const Placement& placement) {
  const Ticks input = one["t_b"];
  const Ticks weight = one["t_w"];
  return uniform_costs(placement, {.forward = one["t_f"],
                                   .backward = input + weight,
                                   .backward_input = input,
                                   .backward_weight = weight,
                                   .delay = one["t_comm"]});
}

MemoryModel memory_of(const nlohmann::json& one, const Placement& placement) {
  const Bytes activation = one["m_b"];
  const Bytes until_weight = one["m_w"];
  MemoryModel memory = default_memory(placement);
  std::fill(memory.activation.begin(), memory.activation.end(), activation);
  std::fill(memory.released_at_input.begin(), memory.released_at_input.end(), activation - until_weight);
  return memory;
}

void check_case(const nlohmann::json& one, const std::string& name) {
  INFO(one["id"].get<std::string>());
  const Schedule schedule = recorded::make_named(name, params_of(one));
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
    CHECK(queue_text(schedule, rank) ==
          recorded::zero_bubble_text(one["orders"][rank.at()], schedule.placement(), rank));

  Simulator simulator;
  const auto outcome =
      simulator.evaluate(schedule, costs_of(one, schedule.placement()), memory_of(one, schedule.placement()));
  REQUIRE(std::holds_alternative<Totals>(outcome));
  const Totals& totals = std::get<Totals>(outcome);
  std::vector<Ticks> window;
  for (std::size_t r = 0; r < totals.busy.size(); ++r)
    window.push_back(totals.last_end[r] - totals.first_start[r]);
  CHECK(totals.makespan == one["makespan"].get<Ticks>());
  CHECK(totals.first_start == one["first_start"].get<std::vector<Ticks>>());
  CHECK(window == one["stage_window"].get<std::vector<Ticks>>());
  CHECK(*std::max_element(window.begin(), window.end()) == one["cost"].get<Ticks>());
  CHECK(totals.peak_live == one["peak_inflight"].get<std::vector<std::int32_t>>());
  CHECK(totals.peak_activation_bytes == one["peak_mem"].get<std::vector<Bytes>>());
}

void check_file(const std::string& file, const std::string& name, std::size_t cases) {
  const auto all = nlohmann::json::parse(recorded::read_text("zerobubble/" + file + ".json"));
  REQUIRE(all.size() == cases);
  for (const auto& one : all) check_case(one, name);
}

/// window_bubble_ratio as the paper prints it: four digits.
double bubble_rate(const nlohmann::json& row, const std::string& name) {
  const auto schedule = std::make_shared<const Schedule>(
      recorded::make_named(name, {.ranks = row["p"], .microbatches = row["m"]}));
  const Costs costs = costs_of(row, schedule->placement());
  const Metrics metrics =
      measure(simulate(schedule, costs), costs, default_memory(schedule->placement()), {});
  return std::round(metrics.window_bubble_ratio * 1e4) / 1e4;
}

}  // namespace

TEST_CASE("zero bubble: recorded 1f1b") {
  check_file("1f1b", "1f1b", 96);
}
TEST_CASE("zero bubble: recorded interleaved 1f1b") {
  check_file("interleaved_1f1b", "interleaved-1f1b", 162);
}
TEST_CASE("zero bubble: recorded zb-h1") {
  check_file("zb_h1", "zb-h1", 96);
}
TEST_CASE("zero bubble: recorded zb-h2") {
  check_file("zb_h2", "zb-h2", 96);
}
TEST_CASE("zero bubble: recorded grouped interleaving, gis") {
  check_file("gis", "gis", 56);
}
TEST_CASE("zero bubble: recorded grouped interleaving, gis-h") {
  check_file("gis_h", "gis-h", 56);
}

TEST_CASE("controllable memory: recorded v-half") {
  check_file("v_half", "v-half", 96);
}
TEST_CASE("controllable memory: recorded v-min") {
  check_file("v_min", "v-min", 96);
}
TEST_CASE("controllable memory: recorded 1f1b-v") {
  check_file("1f1b_v", "1f1b-v", 96);
}

TEST_CASE("zero bubble: published bubble rates to four digits") {
  const auto rows = nlohmann::json::parse(recorded::read_text("zerobubble/published.json"));
  REQUIRE(rows.size() == 9);
  for (const auto& row : rows) {
    INFO(row["model"].get<std::string>() << ", " << row["m"] << " microbatches");
    for (const auto& [paper, ours] : {std::pair("1F1B", "1f1b"), {"ZB-H1", "zb-h1"}, {"ZB-H2", "zb-h2"}})
      CHECK(bubble_rate(row, ours) == row["bubble_rate"][paper].get<double>());
  }
}

}  // namespace pipeloom
