// Compute orders of PyTorch's generators, replayed with the parts of a pair one after the other.

#include <nlohmann/json.hpp>

#include "schedules/recorded.hpp"
#include "sim/text.hpp"
#include "support/catch.hpp"

namespace pipeloom {
namespace {

/// A CSV line without its idle slots, in our text.
std::string without_blanks(const std::string& line) {
  std::string text;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    const std::string cell = line.substr(begin, end - begin);
    if (!cell.empty() && cell != "\"\"") text += (text.empty() ? "" : " ") + cell;
    begin = end + 1;
  }
  return text;
}

void check_case(const nlohmann::json& one) {
  const std::string id = one["id"];
  INFO(id);
  const Schedule schedule = recorded::make_named(
      one["schedule"],
      {.ranks = one["pp"], .microbatches = one["microbatches"], .chunks = one["stages_per_rank"]});
  const auto lines = recorded::read_lines("torch/" + id + ".compute.csv");
  REQUIRE(lines.size() == static_cast<std::size_t>(schedule.ranks()));
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
    CHECK(queue_text(schedule, rank) == without_blanks(lines[rank.at()]));
  for (Stage stage{0}; stage < Stage(schedule.stages()); ++stage)
    CHECK(schedule.placement().rank_of(stage).value() == one["stage_to_rank"][stage.at()].get<int>());

  const Overlap in_turn = {.rule = OverlapRule::Sequential, .duration = {}};
  const Totals totals =
      recorded::evaluate(schedule, uniform_costs(schedule.placement(), {.overlap = in_turn}));
  CHECK(totals.makespan == one["unit_makespan"].get<Ticks>());
  CHECK(totals.first_start == one["unit_rank_start"].get<std::vector<Ticks>>());
  CHECK(totals.last_end == one["unit_rank_end"].get<std::vector<Ticks>>());
  CHECK(totals.busy == one["unit_rank_busy"].get<std::vector<Ticks>>());
  CHECK(totals.peak_live == one["peak_live_stage_microbatch"].get<std::vector<std::int32_t>>());
}

}  // namespace

TEST_CASE("torch: recorded compute orders, unit times and peaks") {
  const auto index = nlohmann::json::parse(recorded::read_text("torch/index.json"));
  REQUIRE(index["schedules"].size() == 42);
  for (const auto& one : index["schedules"]) check_case(one);
}

}  // namespace pipeloom
