// Runs of which some weights are frozen: times, bytes, rates, plans and blocks to paste.

#include <algorithm>
#include <numeric>
#include <string>

#include "study/estimate/estimated_run.hpp"
#include "study/plan/plan.hpp"
#include "study/run/assignments.hpp"
#include "study/run/evaluate.hpp"
#include "study/targets/deployment.hpp"
#include "study/targets/verdict.hpp"
#include "support/catch.hpp"
#include "support/run_config.hpp"

namespace frozen_test {

using namespace pipeloom;
using estimate::Category;
using study::EstimatedRun;
using test::config_of;
using test::evaluation_error;

namespace {

/// llama3-8b, 4 stages of 8 layers, m = 8; `rest` are further keys of costs.
std::string llama(const std::string& rest, const std::string& options = "") {
  return R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8, "options": {)" + options +
         R"(}, "costs": {"model": "llama3-8b", "hardware": "h100", "seq": 4096)" + rest + "}}";
}

EstimatedRun estimated(const std::string& rest, const std::string& options = "") {
  return study::estimate_run(config_of(llama(rest, options)), Limits());
}

const estimate::Stage& stage(const EstimatedRun& run, std::size_t s) {
  return run.costs().estimate.stages[s];
}

constexpr std::string_view kNone = R"(, "trainable": "none")";

}  // namespace

TEST_CASE("frozen: adapters alone are trained, so there is no W and the base has no states") {
  const EstimatedRun all = estimated("");
  const EstimatedRun none = estimated(std::string(kNone));
  for (std::size_t s = 0; s < 4; ++s) {
    CAPTURE(s);
    CHECK(stage(none, s).ticks[0] == stage(all, s).ticks[0]);
    CHECK(stage(none, s).ticks[2] == 0);
    CHECK(stage(none, s).bytes.of(Category::Weights) == 2 * stage(none, s).dense);
    CHECK(stage(none, s).bytes.of(Category::Weights) == stage(all, s).bytes.of(Category::Weights));
    CHECK(stage(none, s).bytes.of(Category::Gradients) == 0);
    CHECK(stage(none, s).bytes.of(Category::Optimizer) == 0);
  }
  // The embedding's gradient is the one thing in I that is its own.
  CHECK(stage(none, 1).ticks[1] == stage(all, 1).ticks[1]);
  CHECK(stage(none, 0).ticks[1] < stage(all, 0).ticks[1]);
  CHECK(none.costs().step_end.seconds() == 0);
  CHECK(none.rates->terms.flops_per_token < all.rates->terms.flops_per_token);
  for (const study::RankBytes& rank : none.ranks)
    CHECK(std::accumulate(rank.categories.bytes.begin(), rank.categories.bytes.end(), Bytes{0}) == rank.peak);
}

TEST_CASE("frozen: adapters of a rank have weights, states and products") {
  const EstimatedRun none = estimated(std::string(kNone));
  const EstimatedRun adapted = estimated(std::string(kNone) + R"(, "adapter_rank": 16)");
  // h = 4096, 6144 of queries, keys and values, f = 14336, two halves of it: pairs of r (k + n) weights beside four products.
  const std::int64_t layer = 16 * ((4096 + 6144) + (4096 + 4096) + (4096 + 2 * 14336) + (14336 + 4096));
  for (std::size_t s = 0; s < 4; ++s) {
    CAPTURE(s);
    CHECK(stage(adapted, s).trained_dense == 8 * layer);
    CHECK(stage(adapted, s).dense == stage(none, s).dense + 8 * layer);
    CHECK(stage(adapted, s).bytes.of(Category::Gradients) == 4 * 8 * layer);
    CHECK(stage(adapted, s).bytes.of(Category::Optimizer) == 12 * 8 * layer);
    CHECK(stage(adapted, s).ticks[0] > stage(none, s).ticks[0]);
    CHECK(stage(adapted, s).ticks[2] > 0);
  }
}

TEST_CASE("frozen: stages in front of what is trained run forwards alone and keep nothing") {
  const EstimatedRun head = estimated(R"(, "trainable": "head")");
  for (std::size_t s = 0; s < 3; ++s) {
    CAPTURE(s);
    CHECK(stage(head, s).ticks[1] == 0);
    CHECK(stage(head, s).ticks[2] == 0);
    CHECK(stage(head, s).bytes.of(Category::UntilInput) + stage(head, s).bytes.of(Category::UntilWeight) ==
          0);
  }
  CHECK(stage(head, 3).ticks[2] > 0);
  CHECK(stage(head, 3).trained_dense == 4096 + 128256 * 4096);
  const EstimatedRun again = estimated(R"(, "trainable": "head")", R"("recompute": "full")");
  CHECK(stage(again, 0).recomputed_ticks == 0);
  CHECK(*again.rates->hfu == *again.rates->mfu);
}

TEST_CASE("frozen: ZeRO shares out what is trained, and the base at level 3") {
  const auto bytes = [](const std::string& rest, Category category) {
    return stage(estimated(R"(, "dp": 8, "trainable": "attention")" + rest), 1).bytes.of(category);
  };
  // h (h + 2 x 1024) for queries, keys and values, h x h behind, and a norm, in 8 layers; the rest is frozen.
  const std::int64_t attention = 8 * (4096 * 6144 + 4096 * 4096 + 4096);
  const std::int64_t frozen = 8 * (3 * 4096LL * 14336 + 4096);
  CHECK(bytes(R"(, "zero": 0)", Category::Optimizer) == 12 * attention);
  CHECK(bytes(R"(, "zero": 1)", Category::Optimizer) == 12 * attention / 8);
  CHECK(bytes(R"(, "zero": 1)", Category::Weights) == 2 * (attention + frozen));
  CHECK(bytes(R"(, "zero": 3)", Category::Weights) == (4 * attention + 2 * frozen) / 8);
  CHECK(bytes(R"(, "zero": 3)", Category::Gathered) == 2 * (attention + frozen));
}

TEST_CASE("frozen: plans know of it, and blocks to paste say what they do not say") {
  study::Assignments run = {{"schedule", "\"1f1b\""},        {"ranks", "4"},
                            {"microbatches", "8"},           {"costs.model", "\"llama3-8b\""},
                            {"costs.hardware", "\"h100\""},  {"costs.seq", "4096"},
                            {"costs.trainable", "\"none\""}, {"costs.adapter_rank", "16"}};
  study::PlanOptions options;
  options.ends_by_clock = false;
  options.vary.add(study::Vary::Schedule);
  options.seconds = 0.1;
  const study::Plan plan = study::make_plan(study::config_of(run), options, {});
  for (const study::PlanCandidate& candidate : plan.candidates) {
    CAPTURE(candidate.name);
    CHECK(study::assignments_of(candidate.config).at("costs.trainable") == "\"none\"");
    CHECK(study::evaluate(candidate.config).metrics->step_time == candidate.step_time);
  }
  const io::Config config = study::config_of(run);
  const study::Deployment deployment = study::deployment_of(study::evaluate(config), config, "1f1b");
  const study::TargetVerdict verdict = study::verdict_of(study::target_named("megatron"), deployment);
  CHECK(std::ranges::any_of(verdict.to_run.needs, [](const std::string& need) {
    return need.find("weights are frozen") != std::string::npos;
  }));
}

TEST_CASE("frozen: what cannot be trained is refused in a line") {
  CHECK(
      evaluation_error(llama(R"(, "trainable": "experts")")).find("llama3-8b has no experts; leave it out") !=
      std::string::npos);
  CHECK(evaluation_error(llama(R"(, "trainable": "hed")"))
            .find("parts separated by commas: embedding,encoder") != std::string::npos);
  CHECK(evaluation_error(llama(R"(, "trainable": "all", "adapter_rank": 8)")).find("all is trained") !=
        std::string::npos);
  CHECK(evaluation_error(llama(R"(, "adapter_rank": 8)")).find("costs.adapter_rank is for costs.trainable") !=
        std::string::npos);
}

}  // namespace frozen_test
