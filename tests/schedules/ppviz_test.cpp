// Every recorded order and makespan of PP-Schedule-Visualization.

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>
#include "schedules/recorded.hpp"
#include "support/catch.hpp"

namespace pipeloom::ppviz_test {
namespace {

using recorded::our_text;

/// Decimal time to ticks of the abstract unit.
Ticks ticks(double time) {
  return std::llround(time * static_cast<double>(ticks_per(TimeUnit::Unit)));
}

Params params_of(const nlohmann::json& one) {
  Params params;
  params.ranks = one["num_devices"];
  params.microbatches = one["num_microbatches"];
  params.chunks = one["num_stages"].get<int>() / params.ranks;
  if (one.contains("group_size") && !one["group_size"].is_null())
    params.options.group_size = one["group_size"].get<int>();
  return params;
}

/// One duration per slot from a number or a list by stage.
std::vector<Ticks> by_slot(const nlohmann::json& times, const Placement& placement) {
  std::vector<Ticks> result;
  for (Slot slot{0}; slot < Slot(placement.slots()); ++slot)
    result.push_back(ticks(times.is_array() ? times[placement.stage_of(slot).at()] : times));
  return result;
}

Costs costs_of(const nlohmann::json& one, const Placement& placement) {
  Costs costs = uniform_costs(placement, {.delay = ticks(one["p2p_latency"])});
  const nlohmann::json& times = one["op_times"];
  const std::pair<const char*, OpKind> kinds[] = {{"F", OpKind::Forward},
                                                  {"B", OpKind::Backward},
                                                  {"D", OpKind::BackwardInput},
                                                  {"W", OpKind::BackwardWeight}};
  for (const auto& [key, kind] : kinds)
    if (times.contains(key)) costs.duration[index_of(kind)] = by_slot(times[key], placement);
  if (times.contains("OV") && !times["OV"].is_null())
    costs.overlap = {.rule = OverlapRule::Explicit, .duration = by_slot(times["OV"], placement)};
  return costs;
}

void check_placement(const nlohmann::json& one, const Schedule& schedule) {
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    std::vector<Stage> stages;
    for (const int stage : one["devices"][rank.at()]["stages"]) stages.emplace_back(stage);
    auto ours = schedule.placement().stages_of(rank);
    std::sort(ours.begin(), ours.end());
    std::sort(stages.begin(), stages.end());
    CHECK(ours == stages);
  }
}

void check_order(const nlohmann::json& one, const Schedule& schedule) {
  CHECK(schedule.num_entries() == one["num_entries"].get<std::size_t>());
  CHECK(schedule.num_ops() == one["num_ops"].get<std::size_t>());
  CHECK(recorded::sha256(recorded::ppviz_text(schedule)) == one["order_sha256"].get<std::string>());
  if (one["detail"] != "full") return;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
    CHECK(queue_text(schedule, rank) == our_text(one["devices"][rank.at()]["order"]));
}

void check_case(const nlohmann::json& one) {
  INFO(one["id"].get<std::string>());
  const Schedule schedule = recorded::make_named(one["strategy"], params_of(one));
  check_placement(one, schedule);
  check_order(one, schedule);
  const Totals totals = recorded::evaluate(schedule, costs_of(one, schedule.placement()));
  const double expected = one["alt_makespan"]["clean_async"];
  if (one["exact"].get<bool>())
    CHECK(totals.makespan == ticks(expected));
  else
    CHECK(std::abs(to_double(totals.makespan, TimeUnit::Unit) - expected) <= 1e-6);
}

void check_file(const std::string& name, std::size_t cases) {
  const auto file = nlohmann::json::parse(recorded::read_text("ppviz/" + name + ".json"));
  REQUIRE(file["cases"].size() == cases);
  for (const auto& one : file["cases"]) check_case(one);
}

}  // namespace

TEST_CASE("ppviz: sha256 of the empty text and of abc") {
  // FIPS 180-4 examples.
  CHECK(recorded::sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(recorded::sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("ppviz: 1f1b") {
  check_file("1f1b", 88);
}
TEST_CASE("ppviz: zb1p") {
  check_file("zb1p", 72);
}
TEST_CASE("ppviz: 1f1b_overlap") {
  check_file("1f1b_overlap", 72);
}
TEST_CASE("ppviz: interleave") {
  check_file("interleave", 126);
}
TEST_CASE("ppviz: interleave_overlap") {
  check_file("interleave_overlap", 99);
}
TEST_CASE("ppviz: dualpipe") {
  check_file("dualpipe", 81);
}
TEST_CASE("ppviz: dualpipe_v") {
  check_file("dualpipe_v", 72);
}
TEST_CASE("ppviz: all strategies, thousands of entries") {
  check_file("large", 28);
}

TEST_CASE("ppviz: GPipe, 1F1B and eager 1F1B of minPP leave no choice, so order and makespan agree") {
  int checked = 0;
  const auto file = nlohmann::json::parse(recorded::read_text("ppviz/minpp.json"));
  for (const auto& one : file["cases"]) {
    const std::string strategy = one["strategy"];
    if (strategy != "gpipe" && strategy != "1f1b" && strategy != "eager1f1b") continue;
    INFO(one["id"].get<std::string>());
    const Schedule schedule = recorded::make_named(strategy, params_of(one));
    for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
      CHECK(queue_text(schedule, rank) == our_text(one["devices"][rank.at()]["order"]));
    CHECK(recorded::evaluate(schedule, uniform_costs(schedule.placement(), {})).makespan ==
          one["makespan"].get<Ticks>());
    ++checked;
  }
  CHECK(checked == 8);
}

TEST_CASE("ppviz: rejected orders are diagnosed") {
  int checked = 0;
  const auto file = nlohmann::json::parse(recorded::read_text("ppviz/rejects.json"));
  for (const auto& one : file["cases"]) {
    if (!one.contains("orders")) continue;
    INFO(one["id"].get<std::string>());
    std::string text;
    for (const auto& order : one["orders"]) text += (text.empty() ? "" : " | ") + our_text(order);
    const auto diagnostics = validate(parse_schedule(text));
    // A pair of one microbatch on the last stage: PyTorch 2.15 runs its parts one after the other, so it is legal here.
    if (one["id"] == "pub-reject-022") {
      CHECK(diagnostics.empty());
      continue;
    }
    REQUIRE_FALSE(diagnostics.empty());
    if (one["kind"] == "deadlock") CHECK(diagnostics.front().code == "hang");
    if (one["kind"] == "accepted_but_invalid") CHECK(diagnostics.front().code != "hang");
    ++checked;
  }
  CHECK(checked == 9);
}

TEST_CASE("ppviz: rejected configurations are refused with a reason or yield a legal order") {
  int refused = 0;
  int made = 0;
  const auto file = nlohmann::json::parse(recorded::read_text("ppviz/rejects.json"));
  for (const auto& one : file["cases"]) {
    INFO(one["id"].get<std::string>());
    const Params params = params_of(one);
    // Stages that cannot be dealt to the devices evenly cannot even be asked for.
    if (one["num_stages"].get<int>() % params.ranks != 0) continue;
    const auto& generator = *schedules::find(one["strategy"].get<std::string>()).generator;
    const std::string reason = schedules::refusal(generator, params);
    if (one["kind"] == "deadlock") CHECK(reason.find("would hang (rank ") != std::string::npos);
    if (reason.empty()) {
      CHECK(validate(schedules::make(generator, params)).empty());
      ++made;
    } else {
      CHECK_THROWS_AS(schedules::make(generator, params), ScheduleError);
      ++refused;
    }
  }
  CHECK(refused + made == 30);
  CHECK(made > 0);
}

}  // namespace pipeloom::ppviz_test
