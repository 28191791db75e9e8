// Recorded orders and times of Megatron-LM, and published bubble rates.

#include <nlohmann/json.hpp>

#include <cmath>

#include <pipeloom/schedule.hpp>
#include "schedules/recorded.hpp"
#include "support/catch.hpp"

namespace pipeloom::megatron_test {
namespace {

Params params_of(const nlohmann::json& one) {
  Params params{.ranks = one["ranks"], .microbatches = one["microbatches"], .chunks = one["chunks_per_rank"]};
  if (one["schedule"] != "1f1b") params.options.group_size = one["group_size"].get<int>();
  return params;
}

/// Forwards before the first backward, not counting those of a pair with it.
int warmup(const Schedule& schedule, Rank rank) {
  int forwards = 0;
  for (const Op op : schedule.queue(rank)) {
    if (op.joined() || op.kind() != OpKind::Forward) break;
    ++forwards;
  }
  return forwards;
}

void check_order(const nlohmann::json& one, const Schedule& schedule, bool paired) {
  const int p = schedule.ranks();
  for (Rank rank{0}; rank < Rank(p); ++rank) {
    CHECK(queue_text(schedule, rank) == recorded::our_text(one["orders"][rank.at()], p, rank.value()));
    const int steady_forward = paired || warmup(schedule, rank) == one["warmup_per_rank"][rank.at()] ? 0 : 1;
    CHECK(warmup(schedule, rank) == one["warmup_per_rank"][rank.at()].get<int>() + steady_forward);
  }
}

void check_times(const nlohmann::json& one, const nlohmann::json& times, const Schedule& schedule) {
  const Overlap overlap = {.rule = OverlapRule::Saving, .duration = {}, .saving = times["overlap_saving"]};
  Costs costs = uniform_costs(
      schedule.placement(),
      {.forward = times["F"], .backward = times["B"], .delay = times["latency"], .overlap = overlap});
  costs.duration[index_of(OpKind::Forward)].back() += times["last_stage_extra"][0].get<Ticks>();
  costs.duration[index_of(OpKind::Backward)].back() += times["last_stage_extra"][1].get<Ticks>();
  const Totals totals = recorded::evaluate(schedule, costs);
  CHECK(totals.makespan == times["makespan_dataflow"].get<Ticks>());
  CHECK(totals.busy == times["busy_per_rank"].get<std::vector<Ticks>>());
  CHECK(totals.last_end == times["end_per_rank_dataflow"].get<std::vector<Ticks>>());
  CHECK(totals.peak_live == one["peak_inflight_chunks"].get<std::vector<std::int32_t>>());
}

void check_file(const std::string& file, const std::string& name, std::size_t cases) {
  const auto recorded_cases = nlohmann::json::parse(recorded::read_text("megatron/" + file + ".json"));
  REQUIRE(recorded_cases.size() == cases);
  for (const auto& one : recorded_cases) {
    INFO(one["ranks"] << " ranks, " << one["chunks_per_rank"] << " chunks, " << one["microbatches"]
                      << " microbatches, group size " << one["group_size"]);
    const Schedule schedule = recorded::make_named(name, params_of(one));
    check_order(one, schedule, file == "interleaved_combined");
    for (const auto& times : one["makespans"]) check_times(one, times, schedule);
  }
}

Ticks milliseconds(double time) {
  return std::llround(time * static_cast<double>(ticks_per(TimeUnit::Millisecond)));
}

/// 1 - max busy / max window.
double bubble_rate(const std::string& name, const nlohmann::json& row, int chunks) {
  const Params params{.ranks = row["ranks"], .microbatches = row["microbatches"], .chunks = chunks};
  const Schedule schedule = recorded::make_named(name, params);
  const auto& ms = row["ms"];
  const Ticks forward = milliseconds(ms["F"]) / chunks;
  const Ticks input = milliseconds(ms["B_input"]) / chunks;
  const Ticks weight = milliseconds(ms["W"]) / chunks;
  const Totals totals =
      recorded::evaluate(schedule, uniform_costs(schedule.placement(), {.forward = forward,
                                                                        .backward = input + weight,
                                                                        .backward_input = input,
                                                                        .backward_weight = weight,
                                                                        .delay = milliseconds(ms["comm"])}));
  Ticks busy = 0;
  Ticks window = 0;
  for (std::size_t r = 0; r < totals.busy.size(); ++r) {
    busy = std::max(busy, totals.busy[r]);
    window = std::max(window, totals.last_end[r] - totals.first_start[r]);
  }
  return 1.0 - static_cast<double>(busy) / static_cast<double>(window);
}

/// As the paper prints it.
double four_digits(double rate) {
  return std::round(rate * 1e4) / 1e4;
}

}  // namespace

TEST_CASE("megatron: recorded 1f1b") {
  check_file("1f1b", "1f1b", 5);
}
TEST_CASE("megatron: recorded interleaved") {
  check_file("interleaved", "megatron-interleaved", 8);
}
TEST_CASE("megatron: recorded combined 1f1b") {
  check_file("interleaved_combined", "megatron-combined-1f1b", 8);
}

TEST_CASE("published bubble rates of the zero-bubble paper come out to four digits") {
  const auto rows =
      nlohmann::json::parse(recorded::read_text("megatron/published_bubble_rates.json"))["rows"];
  REQUIRE(rows.size() == 6);
  for (const auto& row : rows) {
    INFO(row["model"].get<std::string>() << ", " << row["microbatches"] << " microbatches");
    CHECK(four_digits(bubble_rate("1f1b", row, 1)) == row["bubble_rate"]["1f1b"].get<double>());
    CHECK(four_digits(bubble_rate("zb-h1", row, 1)) == row["bubble_rate"]["zb_h1"].get<double>());
    // The paper's interleaved rows leave out p transfers; a replay with all of them is what was recorded
    // besides.
    const int chunks = row["interleave_chunks_per_rank"];
    CHECK(four_digits(bubble_rate("interleaved-1f1b", row, chunks)) ==
          row["dataflow_replay_check"]["1f1b_interleaved"].get<double>());
  }
}

}  // namespace pipeloom::megatron_test
