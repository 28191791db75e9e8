// Recorded layouts of AReaL: its weighted split, which torchtitan shares, and its min-max split.

#include <nlohmann/json.hpp>

#include <fstream>
#include <map>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/layout/layer_split.hpp"
#include "sim/layout/stage_content.hpp"
#include "support/catch.hpp"

namespace pipeloom::layout::areal_reference_test {
namespace {

using Json = nlohmann::json;

const Json& recorded() {
  static const Json json = Json::parse(std::ifstream(PIPELOOM_GOLDEN_DIR "/layout/areal_layout.json"));
  return json;
}

bool is_v(const std::string& schedule) {
  return schedule == "ZBVZeroBubble" || schedule == "DualPipeV";
}

StageRules rules_of(const std::string& schedule) {
  const bool single = schedule == "1F1B";
  return {.schedule = schedule,
          .min_chunks = single ? 1 : 2,
          .max_chunks = single           ? 1
                        : is_v(schedule) ? 2
                                         : kMaxIndex,
          .default_chunks = single ? 1 : 2};
}

/// A word of our message for each recorded cause.
std::string cause_text(const std::string& cause) {
  static const std::map<std::string, std::string> causes = {
      {"virtual stages not divisible by pp", "not a multiple of"},
      {"single-stage schedule needs 1 stage per rank", "takes one stage per rank"},
      // Ours says what the schedule takes: "two .. or more" or "exactly two".
      {"multi-stage schedule needs at least 2 stages per rank", ", not 1"},
      {"v schedule needs exactly 2 stages per rank", "takes exactly two stages per rank"},
      {"more stages than effective layers", "stages are more than"},
      {"first weight exceeds layers per stage", "the first stage gets"},
      {"last weight exceeds layers per stage", "the last stage gets"},
  };
  return causes.at(cause);
}

struct Case {
  explicit Case(const Json& one)
      : rules(rules_of(one["schedule"])),
        model{.layers = one["layers"], .first_less = one["first_less"], .last_less = one["last_less"]},
        ranks(one["pp"]) {
    if (!one["layers_per_stage_setting"].is_null())
      layers_per_stage = one["layers_per_stage_setting"].get<int>();
  }
  [[nodiscard]] int stages() const { return stage_count(rules, model, ranks, layers_per_stage); }

  StageRules rules;
  WeightedModel model;
  int ranks;
  std::optional<int> layers_per_stage;
};

void check_refused(const Case& one, const Json& result) {
  const std::string cause = result["error"];
  const bool by_rule =
      cause.find("weight") == std::string::npos && cause.find("more stages") == std::string::npos;
  std::string message;
  int stages = 0;
  try {
    stages = one.stages();
    CHECK(stages == result["virtual_stages"]);
    CHECK_FALSE(by_rule);
    (void)weighted_split(one.model, stages);
  } catch (const InputError& error) {
    message = error.what();
  }
  CHECK((stages == 0) == by_rule);
  CHECK_THAT(message, Catch::Matchers::Contains(cause_text(cause)));
}

std::vector<std::vector<int>> stages_by_rank(const Placement& placement) {
  std::vector<std::vector<int>> stages;
  for (Rank rank{0}; rank < Rank(placement.ranks()); ++rank) {
    stages.emplace_back();
    for (const Stage stage : placement.stages_of(rank)) stages.back().push_back(stage.value());
  }
  return stages;
}

void check_accepted(const Case& one, const Json& result) {
  const int stages = one.stages();
  REQUIRE(stages == result["virtual_stages"]);
  CHECK(stages / one.ranks == result["stages_per_rank"]);
  const std::vector<int> layers = weighted_split(one.model, stages);
  CHECK(layers == result["layers_per_stage"].get<std::vector<int>>());

  const Placement placement = is_v(one.rules.schedule) ? Placement::wave(one.ranks, 2)
                                                       : Placement::loop(one.ranks, stages / one.ranks);
  CHECK(stages_by_rank(placement) == result["rank_stages"].get<std::vector<std::vector<int>>>());
  CHECK(placement.rank_of(Stage(stages - 1)).value() == result["last_stage_rank"]);
  std::vector<int> per_rank(static_cast<std::size_t>(one.ranks));
  for (Stage stage{0}; stage < Stage(stages); ++stage)
    per_rank[placement.rank_of(stage).at()] += layers[stage.at()];
  CHECK(per_rank == result["layers_per_rank"].get<std::vector<int>>());

  const auto modules = modules_of(contents_of(layers), module_names(Framework::Areal, false));
  const Json& extra = result["extra"];
  CHECK(modules.front().front() == extra["first"]);
  const std::vector<std::string>& last = modules.back();
  CHECK(std::vector<std::string>(last.end() - 2, last.end()) ==
        extra["last"].get<std::vector<std::string>>());
}

}  // namespace

TEST_CASE("areal: recorded weighted splits and refusals") {
  REQUIRE(recorded()["archon"].size() == 150);
  int accepted = 0;
  for (const Json& one : recorded()["archon"]) {
    INFO(one.dump());
    const Json& result = one["result"];
    if (result.contains("error")) {
      check_refused(Case(one), result);
    } else {
      check_accepted(Case(one), result);
      ++accepted;
    }
  }
  CHECK(accepted == 77);
}

TEST_CASE("areal: recorded min-max splits") {
  REQUIRE(recorded()["megatron_minmax"].size() == 40);
  for (const Json& one : recorded()["megatron_minmax"]) {
    INFO(one.dump());
    const LayerWeights weights = {.layers = one["layer_weights"].get<std::vector<std::int64_t>>(),
                                  .embedding = one["embedding"],
                                  .output = one["output"]};
    const auto lengths = one["lengths"].get<std::vector<int>>();
    if (lengths.empty())
      CHECK_THROWS_AS(min_max_split(weights, one["stages"]), InputError);
    else
      CHECK(min_max_split(weights, one["stages"]) == lengths);
  }
}

}  // namespace pipeloom::layout::areal_reference_test
