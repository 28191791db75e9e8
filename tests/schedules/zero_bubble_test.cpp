// Recorded orders, times and memory of the zero-bubble family, and the bubble rates its paper prints.

#include <nlohmann/json.hpp>

#include <cmath>
#include <memory>

#include "schedules/recorded.hpp"
#include "sim/analysis/metrics.hpp"
#include "support/catch.hpp"

namespace pipeloom::zero_bubble_test {
namespace {

void check_file(const std::string& file, const std::string& name, std::size_t cases) {
  const auto all = recorded::zero_bubble_cases(file);
  REQUIRE(all.size() == cases);
  for (const auto& one : all) recorded::check_zero_bubble_case(one, recorded::make_named(name, one.params));
}

/// window_bubble_ratio as the paper prints it: four digits.
double bubble_rate(const nlohmann::json& row, const std::string& name) {
  const auto schedule = std::make_shared<const Schedule>(
      recorded::make_named(name, {.ranks = row["p"], .microbatches = row["m"]}));
  const Ticks input = row["t_b"];
  const Ticks weight = row["t_w"];
  const Costs costs = uniform_costs(schedule->placement(), {.forward = row["t_f"],
                                                            .backward = input + weight,
                                                            .backward_input = input,
                                                            .backward_weight = weight,
                                                            .delay = row["t_comm"]});
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

}  // namespace pipeloom::zero_bubble_test
