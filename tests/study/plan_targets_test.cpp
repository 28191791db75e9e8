// Plans for a target: what is ranked is what it runs, and what is printed is what it was asked for.

#include <algorithm>
#include <string>

#include "sim/base/text_tools.hpp"
#include "sim/layout/megatron_layout.hpp"
#include "study/plan/judge.hpp"
#include "study/plan/plan.hpp"
#include "study/plan/shown/plan_words.hpp"
#include "study/run/assignments.hpp"
#include "study/run/evaluate.hpp"
#include "support/catch.hpp"

namespace plan_targets_test {
using namespace pipeloom;

namespace {

using study::Assignments;
using study::Plan;
using study::PlanCandidate;
using study::PlanOptions;
using study::TargetVerdict;
using study::Vary;

/// 4 ms forward and 8 ms backward for all of a rank's layers.
Assignments sized(int ranks, int microbatches) {
  return {{"schedule", "\"1f1b\""},
          {"ranks", std::to_string(ranks)},
          {"microbatches", std::to_string(microbatches)},
          {"costs.time_unit", "\"ms\""},
          {"costs.per", "\"rank\""},
          {"costs.forward", "4"},
          {"costs.backward", "8"}};
}

Plan plan_for(const std::string& target, const Assignments& workload, std::initializer_list<Vary> vary) {
  PlanOptions options;
  options.ends_by_clock = false;
  for (const Vary one : vary) options.vary.add(one);
  options.target = &study::target_named(target);
  options.seconds = 0.2;
  return study::make_plan(study::config_of(workload), options, {});
}

constexpr std::initializer_list<Vary> kShapes = {Vary::Schedule, Vary::Chunks, Vary::Placement};

std::string setting(const Plan& plan, const std::string& key) {
  REQUIRE(plan.to_run.size() == 1);
  for (const study::Setting& one : plan.to_run.front().to_run.settings)
    if (one.key == key) return one.value;
  return "";
}

}  // namespace

TEST_CASE("Megatron-core gets the group size with which it takes the microbatches") {
  // Groups of 4 leave 7 - 4 = 3 and 6 - 4 = 2 microbatches, which it refuses; one group of all is legal, and shorter than 1F1B.
  for (const auto& [microbatches, step] : {std::pair(7, 93), std::pair(6, 81)}) {
    INFO(microbatches);
    const Plan plan = plan_for("megatron", sized(4, microbatches), kShapes);
    REQUIRE_FALSE(plan.candidates.empty());
    // v = 4 passes of 3 ms for each of m microbatches, and 3 more at the end: (4 m + 3) 3 ms.
    CHECK(step == (4 * microbatches + 3) * 3);
    CHECK(plan.candidates.front().step_time == step * ticks_per(TimeUnit::Millisecond));
    CHECK(setting(plan, "--microbatch-group-size-per-virtual-pipeline-stage") ==
          std::to_string(microbatches));
    CHECK(setting(plan, "--num-virtual-stages-per-pipeline-rank") == "4");
    CHECK(setting(plan, "--global-batch-size") == std::to_string(microbatches));
  }
}

TEST_CASE("a class whose own order holds more than was planned is not named") {
  // The class makes one round of 15, whose fullest rank holds 13.25 activations; groups of 8 hold 8, and 8.1 fit.
  Assignments workload = sized(8, 15);
  workload["memory.per"] = "\"rank\"";
  workload["memory.activation_bytes"] = "1000";
  workload["memory.limit_bytes"] = "8100";
  for (const char* target : {"torch-2.15", "torchtitan"}) {
    const Plan plan = plan_for(target, workload, kShapes);
    REQUIRE_FALSE(plan.candidates.empty());
    CHECK(plan.candidates.front().peak <= 8100);
    REQUIRE(plan.to_run.size() == 1);
    CHECK(plan.to_run.front().from_file);
  }
  const Plan areal = plan_for("areal", workload, kShapes);
  REQUIRE_FALSE(areal.candidates.empty());
  CHECK(setting(areal, "actor.archon.pp_schedule") == "\"1F1B\"");
}

TEST_CASE("all that is ranked for a target is taken by it, as it is") {
  for (const study::Target& target : study::targets())
    for (const auto& [ranks, microbatches] :
         {std::pair(2, 3), std::pair(3, 7), std::pair(4, 3), std::pair(4, 11)}) {
      INFO(target.name << ' ' << ranks << ' ' << microbatches);
      PlanOptions options;
      options.ends_by_clock = false;
      options.target = &target;
      const Plan plan = plan_for(std::string(target.name), sized(ranks, microbatches),
                                 {Vary::Schedule, Vary::Chunks, Vary::Placement, Vary::Order});
      for (const PlanCandidate& candidate : plan.candidates) {
        INFO(candidate.name);
        const std::vector<TargetVerdict> verdicts = study::verdicts_of(candidate, options);
        REQUIRE(verdicts.size() == 1);
        CHECK(verdicts.front().taken());
        CHECK(verdicts.front().own_layers.empty());
        CHECK_FALSE(verdicts.front().to_run.text.empty());
      }
      CHECK_FALSE(plan.not_taken.empty());
    }
}

TEST_CASE("where a target takes nothing, the page says why without being asked") {
  // Eight replicas share no experts out, and ep 8 divides tp x cp = 1 x 1 not either.
  const Assignments workload = {{"schedule", "\"1f1b\""},
                                {"ranks", "4"},
                                {"microbatches", "8"},
                                {"costs.model", "\"mixtral-8x7b\""},
                                {"costs.hardware", "\"h200\""},
                                {"costs.seq", "1024"},
                                {"costs.dp", "8"},
                                {"costs.ep", "8"},
                                {"costs.zero", "0"}};
  const Plan plan = plan_for("torchtitan", workload, kShapes);
  CHECK(plan.candidates.empty());
  const std::string text = join(study::refusals_list(plan, false).items, "\n");
  CHECK(text.find("ep 8 does not divide cp x tp, 1, and with ZeRO 0 the 8 data ranks are replicas") !=
        std::string::npos);
}

TEST_CASE("a file holds no passes that a framework's backward runs again by itself") {
  Assignments workload = {{"schedule", "\"1f1b\""}, {"ranks", "4"},
                          {"microbatches", "7"},    {"costs.hardware", "\"mi355x\""},
                          {"costs.seq", "4096"},    {"options.recompute", "\"full\""}};
  for (const char* target : {"torch", "torchtitan", "areal"}) {
    // AReaL has no Llama.
    workload["costs.model"] = std::string(target) == "areal" ? "\"qwen3-30b-a3b\"" : "\"llama3-8b\"";
    const Plan plan =
        plan_for(target, workload, {Vary::Schedule, Vary::Chunks, Vary::Placement, Vary::Layers});
    REQUIRE_FALSE(plan.candidates.empty());
    for (const PlanCandidate& candidate : plan.candidates) {
      INFO(target << ' ' << candidate.name);
      CHECK(candidate.run.schedule->contains(OpKind::Recompute));
      CHECK_FALSE(candidate.queues()->contains(OpKind::Recompute));
    }
  }
}

TEST_CASE("AReaL runs models of the types that it has alone, and says so where a model's type is not known") {
  Assignments workload = {{"schedule", "\"1f1b\""},         {"ranks", "4"},
                          {"microbatches", "16"},           {"costs.model", "\"llama3-8b\""},
                          {"costs.hardware", "\"mi355x\""}, {"costs.seq", "1024"}};
  const Plan llama = plan_for("areal", workload, {Vary::Schedule});
  CHECK(llama.candidates.empty());
  REQUIRE_FALSE(llama.not_taken.empty());
  CHECK(std::ranges::any_of(llama.not_taken, [](const auto& one) {
    return one.reason.find("llama3-8b is of llama") != std::string::npos;
  }));
  workload["costs.model"] = "\"qwen3-30b-a3b\"";
  const Plan qwen = plan_for("areal", workload, {Vary::Schedule});
  REQUIRE(qwen.to_run.size() == 1);
  const auto says_types = [](const std::string& need) {
    return need.find("is not known") != std::string::npos;
  };
  CHECK(std::ranges::none_of(qwen.to_run.front().to_run.needs, says_types));
  workload["costs.model"] = "\"zb-1.5b\"";  // a GPT of a paper's
  const Plan paper = plan_for("areal", workload, {Vary::Schedule});
  REQUIRE(paper.to_run.size() == 1);
  CHECK(std::ranges::any_of(paper.to_run.front().to_run.needs, says_types));
}

TEST_CASE("schedules that share out the head win under no target that has no file for them") {
  Assignments workload = {{"schedule", "\"1f1b\""},       {"ranks", "4"},
                          {"microbatches", "16"},         {"costs.model", "\"llama3-8b\""},
                          {"costs.hardware", "\"h100\""}, {"costs.seq", "4096"}};
  const Plan plan = plan_for("torch-2.15", workload, {Vary::Schedule});
  REQUIRE_FALSE(plan.candidates.empty());
  for (const PlanCandidate& candidate : plan.candidates) CHECK_FALSE(candidate.run.schedule->shares_output());
  CHECK(std::ranges::any_of(plan.not_taken, [](const auto& one) { return one.name == "vocab-2"; }));
}

TEST_CASE("the layout string that is planned is read back with the model's layers") {
  Assignments workload = {{"schedule", "\"1f1b\""},
                          {"ranks", "4"},
                          {"microbatches", "16"},
                          {"costs.model", "\"deepseek-v3\""},
                          {"costs.hardware", "\"gb200\""},
                          {"costs.ep", "64"},
                          {"costs.dp", "64"},
                          {"costs.gradient_bytes", "2"},
                          {"costs.seq", "4096"}};
  const Plan plan = plan_for("megatron", workload, {Vary::Layers});
  REQUIRE_FALSE(plan.candidates.empty());
  std::string text = setting(plan, "--pipeline-model-parallel-layout");
  REQUIRE(text.size() > 2);
  text = text.substr(1, text.size() - 2);
  const auto contents = layout::contents_of(layout::parse_megatron_layout(text), 4, {.layers = 61, .mtp = 1});
  CHECK(contents.back().mtp == 1);
  for (std::size_t stage = 0; stage < contents.size(); ++stage)
    CHECK(contents[stage].layers == plan.candidates.front().layers[stage]);
}

TEST_CASE("AReaL's layers are those that it deals out, where it cannot be told others") {
  Assignments workload = {{"schedule", "\"1f1b\""},
                          {"ranks", "4"},
                          {"microbatches", "16"},
                          {"costs.model", "\"qwen3-30b-a3b\""},
                          {"costs.hardware", "\"mi355x\""},
                          {"costs.seq", "4096"},
                          {"costs.layers", "[9, 15, 13, 11]"}};
  const Plan plan = plan_for("areal", workload, {Vary::Schedule});
  const auto found = std::ranges::find(plan.candidates, "1f1b", &PlanCandidate::schedule);
  REQUIRE(found != plan.candidates.end());
  // 50 on 4 stages are 13, 13, 12, 12, less one at each end.
  CHECK(found->layers == std::vector<int>{12, 13, 12, 11});
  workload["costs.layers"] = "[12, 13, 12, 11]";
  CHECK(found->step_time == study::evaluate(study::config_of(workload), {}).metrics->step_time);
}

}  // namespace plan_targets_test
