// Compute orders of PyTorch's generators, blanks included, replayed with the parts of a pair one after the other.

#include <nlohmann/json.hpp>

#include <numeric>

#include "schedules/recorded.hpp"
#include "sim/kinds.hpp"
#include "sim/text.hpp"
#include "support/catch.hpp"

namespace pipeloom::torch_test {
namespace {

/// A rank's row as PyTorch writes it: words and blank cells joined by commas.
std::string row_of(const Schedule& schedule, const IdleCells& idle, Rank rank) {
  std::string row;
  bool first = true;
  const auto add = [&](const std::string& cell) {
    row += (first ? "" : ",") + cell;
    first = false;
  };
  std::size_t entry = 0;
  const auto add_blanks = [&] {
    for (int i = idle.empty() ? 0 : idle[rank.at()].at(entry); i > 0; --i) add("");
  };
  for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                 [&](std::size_t begin, std::size_t end) {
                   add_blanks();
                   add(entry_text(schedule, begin, end));
                   ++entry;
                 });
  add_blanks();
  return row;
}

std::int64_t blanks_of(const IdleCells& idle, Rank rank) {
  if (idle.empty()) return 0;
  return std::accumulate(idle[rank.at()].begin(), idle[rank.at()].end(), std::int64_t{0});
}

void check_case(const nlohmann::json& one) {
  const std::string id = one["id"];
  INFO(id);
  const auto found = schedules::find(one["schedule"].get<std::string>());
  Params params{.ranks = one["pp"], .microbatches = one["microbatches"], .chunks = one["stages_per_rank"]};
  if (found.alias != nullptr && found.alias->defaults) found.alias->defaults(params);
  const Schedule schedule = schedules::make(*found.generator, params);
  const IdleCells idle =
      found.generator->idle_cells ? found.generator->idle_cells(params, schedule) : IdleCells{};

  const auto rows = recorded::read_lines("torch/" + id + ".compute.csv");
  REQUIRE(rows.size() == static_cast<std::size_t>(schedule.ranks()));
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    CHECK(row_of(schedule, idle, rank) == rows[rank.at()]);
    CHECK(blanks_of(idle, rank) == one["blank_cells_per_rank"][rank.at()].get<std::int64_t>());
  }
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

TEST_CASE("torch: recorded compute orders cell by cell, unit times and peaks") {
  const auto index = nlohmann::json::parse(recorded::read_text("torch/index.json"));
  REQUIRE(index["schedules"].size() == 79);
  for (const auto& one : index["schedules"]) check_case(one);
}

TEST_CASE("torch: blanks are drawn for PyTorch's own orders only") {
  const auto blanks = [](const std::string& name, const Params& params) {
    const auto& generator = *schedules::find(name).generator;
    return generator.idle_cells(params, schedules::make(generator, params));
  };
  for (const char* name : {"interleaved-1f1b", "interleaved-zb"}) {
    // PyTorch runs 10 div 4 = 2 rounds of 5.
    CHECK(blanks(name, {.ranks = 4, .microbatches = 10, .chunks = 2, .options = {.group_size = 5}}).size() ==
          4);
    CHECK(blanks(name, {.ranks = 4, .microbatches = 10, .chunks = 2}).empty());
  }
}

}  // namespace pipeloom::torch_test
