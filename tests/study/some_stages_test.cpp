// Recomputation and offloading of single stages: what a run costs and holds, and how a plan finds them.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "study/estimate/estimated_run.hpp"
#include "study/plan/judge.hpp"
#include "study/plan/plan.hpp"
#include "study/plan/relief.hpp"
#include "study/plan/shown/plan_shown.hpp"
#include "study/plan/targets.hpp"
#include "study/run/assignments.hpp"
#include "study/run/evaluate.hpp"
#include "support/catch.hpp"
#include "support/plain_page.hpp"
#include "support/run_config.hpp"

namespace some_stages_test {

using namespace pipeloom;
using estimate::Category;
using study::Assignments;
using study::EstimatedRun;
using study::Plan;
using study::PlanCandidate;
using study::Vary;
using test::config_of;
using test::evaluation_error;

namespace {

/// llama3-8b, 4 stages of 8 layers, m = 8, with these options.
std::string llama(const std::string& options, const std::string& schedule = "1f1b", int microbatches = 8) {
  return fmt::format(R"({{"schedule": "{}", "ranks": 4, "microbatches": {}, "options": {{)", schedule,
                     microbatches) +
         options + R"(}, "costs": {"model": "llama3-8b", "hardware": "h100", "seq": 4096, "flash": false}})";
}

EstimatedRun estimated(const std::string& options) {
  return study::estimate_run(config_of(llama(options)), Limits());
}

io::Config within(Bytes limit, std::string text) {
  text.insert(text.size() - 1, fmt::format(R"(, "memory": {{"limit_bytes": {}}})", limit));
  return config_of(text);
}

/// By the fullest rank, bytes.
Bytes most_held(const std::string& text) {
  const Run run = study::evaluate(config_of(text));
  Bytes most = 0;
  for (const RankMetrics& rank : run.metrics->ranks) most = std::max(most, rank.memory.peak_bytes);
  return most;
}

/// Activations of a kind of F = 1, B = 2, R = 1: 10 bytes, of which a stash of 1 stays.
constexpr Ticks kUnit = 1'000'000'000;

Assignments tight() {
  return {{"ranks", "4"},
          {"microbatches", "8"},
          {"schedule", "\"1f1b\""},
          {"memory.activation_bytes", "10"},
          {"memory.stash_bytes", "1"},
          {"memory.limit_bytes", "25"}};
}

Plan plan_of(const Assignments& workload, std::initializer_list<Vary> vary, double seconds = 0.1) {
  study::PlanOptions options;
  options.ends_by_clock = false;
  for (const Vary one : vary) options.vary.add(one);
  options.seconds = seconds;
  return study::make_plan(study::config_of(workload), options, {});
}

/// Orders of F = I = W = R = 1 that may run forwards again.
Plan again_within(const std::string& limit) {
  Assignments workload = tight();
  workload["memory.limit_bytes"] = limit;
  workload["costs.forward"] = workload["costs.backward_input"] = workload["costs.backward_weight"] = "1";
  workload["costs.backward"] = "2";
  workload["costs.recompute"] = "1";
  return plan_of(workload, {Vary::Recompute, Vary::Order}, 0.5);
}

const PlanCandidate* find(const Plan& plan, const std::string& name) {
  const auto found = std::ranges::find(plan.candidates, name, &PlanCandidate::name);
  return found == plan.candidates.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("some stages: each costs and holds what it does where all are like it") {
  for (const std::string rest : {R"("modules": "core_attn")", R"("keep": 0)"}) {
    CAPTURE(rest);
    const EstimatedRun some = estimated(R"("recompute": {)" + rest + R"(, "stages": [0, 2]})");
    const EstimatedRun all = estimated(R"("recompute": {)" + rest + "}");
    const EstimatedRun none = estimated("");
    for (std::size_t s = 0; s < 4; ++s) {
      const estimate::Stage& stage = some.costs().estimate.stages[s];
      const estimate::Stage& like = (s % 2 == 0 ? all : none).costs().estimate.stages[s];
      CAPTURE(s);
      CHECK(stage.ticks == like.ticks);
      CHECK(stage.bytes.bytes == like.bytes.bytes);
      CHECK(stage.stash == like.stash);
      CHECK(some.ranks[s].peak == (s % 2 == 0 ? all : none).ranks[s].peak);
    }
    // Two of four stages of as many layers run again: half of the work that is counted twice.
    CHECK(*some.rates->hfu / *some.rates->mfu - 1 ==
          Approx((*all.rates->hfu / *all.rates->mfu - 1) / 2).epsilon(1e-9));
  }
}

TEST_CASE("some stages: categories add up to the peak, with a window too") {
  for (const std::string options :
       {R"("recompute": {"stages": [1]})", R"("recompute": {"modules": "mlp", "stages": [3]})",
        R"("recompute": {"keep": 2})", R"("recompute": {"keep": 1, "stages": [0, 1]})",
        R"("offload": {"stages": [0]})"}) {
    CAPTURE(options);
    const EstimatedRun run = estimated(options);
    for (const study::RankBytes& rank : run.ranks)
      CHECK(std::accumulate(rank.categories.bytes.begin(), rank.categories.bytes.end(), Bytes{0}) ==
            rank.peak);
  }
}

TEST_CASE("a window's passes that are kept hold all of their activations") {
  const EstimatedRun none = estimated("");
  const EstimatedRun window = estimated(R"("recompute": {"keep": 3})");
  const EstimatedRun full = estimated(R"("recompute": "full")");
  // Rank 0 has 4 microbatches outstanding and keeps 3 of them; the fourth has a stash until its R, at whose end it has all.
  const auto activations = [](const EstimatedRun& run) {
    const auto& categories = run.ranks[0].categories;
    return categories.of(Category::UntilInput) + categories.of(Category::UntilWeight);
  };
  const Bytes one = activations(none) / 4;
  CHECK(activations(full) < one);
  CHECK(activations(window) >= 3 * one);
  CHECK(activations(window) <= 4 * one);
  // 2 of 8 microbatches of rank 0 run again, the 4th and the 8th; ranks behind it have 3, 2 and 1 outstanding and keep them all.
  CHECK(*window.rates->hfu / *window.rates->mfu - 1 ==
        Approx((*full.rates->hfu / *full.rates->mfu - 1) * 2 / 32).epsilon(1e-9));
}

TEST_CASE("some layers of a stage run again") {
  const EstimatedRun none = estimated("");
  const EstimatedRun full = estimated(R"("recompute": "full")");
  const EstimatedRun block = estimated(R"("recompute": {"layers": 6})");
  const EstimatedRun all = estimated(R"("recompute": {"layers": 8})");
  const EstimatedRun groups = estimated(R"("recompute": {"layers": 2, "method": "uniform"})");
  const auto kept = [](const EstimatedRun& run) {
    const estimate::CategoryBytes& bytes = run.costs().estimate.stages[1].bytes;
    return bytes.of(Category::UntilInput) + bytes.of(Category::UntilWeight);
  };
  // Stages have 8 layers: 6 inputs and 2 layers whole, 4 inputs of groups of 2.
  CHECK(kept(block) == kept(full) / 8 * 6 + kept(none) / 8 * 2);
  CHECK(kept(all) == kept(full));
  CHECK(kept(groups) == kept(full) / 2);
  // 6/8 of what runs again is counted; groups run again whole.
  const auto again = [](const EstimatedRun& run) { return *run.rates->hfu / *run.rates->mfu - 1; };
  CHECK(again(block) == Approx(again(full) * 6 / 8).epsilon(1e-9));
  CHECK(again(groups) == Approx(again(full)).epsilon(1e-9));
  CHECK(block.run.metrics->step_time < full.run.metrics->step_time);
  CHECK(groups.run.metrics->step_time == full.run.metrics->step_time);
  for (const EstimatedRun* run : {&block, &all, &groups})
    for (const study::RankBytes& rank : run->ranks)
      CHECK(std::accumulate(rank.categories.bytes.begin(), rank.categories.bytes.end(), Bytes{0}) ==
            rank.peak);
}

TEST_CASE("layers that run again need a model, and no modules beside them") {
  CHECK(evaluation_error(
            R"({"schedule": "1f1b", "ranks": 2, "microbatches": 2, "options": {"recompute": {"layers": 3}}})")
            .find("3 layers of a stage need costs.model") != std::string::npos);
  CHECK(evaluation_error(llama(R"("recompute": {"layers": 3, "modules": "mlp"})"))
            .find("leave out options.recompute") != std::string::npos);
  CHECK(evaluation_error(llama(R"("recompute": {"method": "uniform"})"))
            .find("options.recompute.method is for options.recompute.layers") != std::string::npos);
  CHECK(evaluation_error(llama(R"("recompute": {"layers": 0})")).find("a whole number from 1") !=
        std::string::npos);
}

TEST_CASE("stages that the run has not are refused with what it has") {
  CHECK(evaluation_error(llama(R"("recompute": {"stages": [4]})"))
            .find("names stage 4, but the run has 4, 0 to 3") != std::string::npos);
  CHECK(evaluation_error(llama(R"("recompute": {"modules": "mlp", "stages": [7]})"))
            .find("options.recompute.stages names stage 7") != std::string::npos);
  CHECK(evaluation_error(llama(R"("offload": {"stages": [1, 4]})"))
            .find("options.offload.stages names stage 4") != std::string::npos);
  CHECK(evaluation_error(llama(R"("offload": {"stages": [1, 1]})")).find("each once") != std::string::npos);
  CHECK(evaluation_error(llama(R"("recompute": {"stages": []})")).find("an array of stages") !=
        std::string::npos);
  CHECK(evaluation_error(llama(R"("recompute": {"stages": [-1]})")).find("whole numbers from 0") !=
        std::string::npos);
}

TEST_CASE("stages in words are runs of them") {
  CHECK(study::stage_ranges_text({3}) == "3");
  CHECK(study::stage_ranges_text({0, 1}) == "0, 1");
  CHECK(study::stage_ranges_text({0, 1, 2, 5, 7, 8, 9}) == "0-2, 5, 7-9");
}

TEST_CASE("a plan recomputes on the stages that hold too much, and on no others") {
  // 1F1B holds 4, 3, 2, 1 activations of 10; 25 is room for two, so stages 0 and 1 recompute and 2 and 3 need not.
  const Plan plan = plan_of(tight(), {Vary::Recompute});
  const PlanCandidate* some = find(plan, "1f1b, recompute full on stages 0, 1");
  const PlanCandidate* all = find(plan, "1f1b, recompute full");
  REQUIRE(some != nullptr);
  REQUIRE(all != nullptr);
  CHECK(some->step_time < all->step_time);
  CHECK(&plan.candidates.front() == some);
  // Rank 0: 3 stashes and the one that is whole again, 3 + 10; ranks 2 and 3 hold 2 and 1 whole ones.
  CHECK(some->peaks == std::vector<Bytes>{13, 12, 20, 10});
  CHECK(study::assignments_of(some->config).at("options.recompute") == R"({"keep": 0, "stages": [0, 1]})");
  const Run again = study::evaluate(study::config_of(study::assignments_of(some->config)), {});
  CHECK(again.metrics->step_time == some->step_time);
}

TEST_CASE(
    "orders are searched for the ops that a plan's options add, and a file of one holds none of these") {
  Assignments workload = tight();
  workload["costs.forward"] = workload["costs.backward_input"] = workload["costs.backward_weight"] = "1";
  workload["costs.backward"] = "2";
  workload["costs.recompute"] = "0.25";
  const Plan plan = plan_of(workload, {Vary::Schedule, Vary::Recompute, Vary::Order});
  for (const PlanCandidate& candidate : plan.candidates) {
    CAPTURE(candidate.name);
    for (const Bytes peak : candidate.peaks) CHECK(peak <= 25);
    const bool adds = candidate.searched() || candidate.run.schedule->contains(OpKind::Recompute);
    REQUIRE(adds == (candidate.order != nullptr));
    if (!adds) continue;
    CHECK_FALSE(candidate.queues()->contains(OpKind::Recompute));
    const Run again = study::evaluate_schedule(candidate.order, "order",
                                               study::config_of(study::assignments_of(candidate.config)), {});
    CHECK(again.metrics->step_time == candidate.step_time);
  }
  const auto is_searched = [](const PlanCandidate& one) {
    return one.searched() && one.run.schedule->contains(OpKind::Recompute);
  };
  CHECK(std::ranges::any_of(plan.candidates, is_searched));
}

TEST_CASE("a copy takes what its forward holds, over the hardware's link to the host") {
  // h100: 64 GB/s, of which 0.8 are reached, and 10 us.
  const auto copy_of = [](Bytes bytes) {
    return Ticks{1000} * std::llround(1e9 * (10e-6 + static_cast<double>(bytes) / (0.8 * 64e9)));
  };
  const EstimatedRun all = estimated(R"("offload": "all")");
  const EstimatedRun both = estimated(R"("offload": "all", "recompute": "full")");
  for (int s = 0; s < 4; ++s) {
    CAPTURE(s);
    const estimate::CategoryBytes& bytes = all.costs().estimate.stages[static_cast<std::size_t>(s)].bytes;
    const Bytes activations = bytes.of(Category::UntilInput) + bytes.of(Category::UntilWeight);
    const Bytes stash = both.costs().estimate.stages[static_cast<std::size_t>(s)].stash;
    CHECK(stash < activations);
    for (const OpKind kind : {OpKind::Offload, OpKind::Reload}) {
      CHECK(all.run.costs->duration[index_of(kind)][static_cast<std::size_t>(s)] == copy_of(activations));
      CHECK(both.run.costs->duration[index_of(kind)][static_cast<std::size_t>(s)] == copy_of(stash));
    }
  }
}

TEST_CASE("what copies activations to the host copies those of as few stages as will do") {
  Assignments workload = tight();
  workload["costs.forward"] = "1";
  workload["costs.backward"] = "2";
  workload["costs.offload"] = "2";
  workload["memory.limit_bytes"] = "35";
  const Plan plan = plan_of(workload, {Vary::Offload});
  // Rank 0 alone holds 4 activations where there is room for three.
  const PlanCandidate* some = find(plan, "1f1b, offload on stage 0");
  REQUIRE(some != nullptr);
  CHECK(study::config_of(study::assignments_of(some->config)).options.offload.stages == std::vector{0});
  for (const Op op : some->run.schedule->ops())
    if (op.kind() == OpKind::Offload) CHECK(op.stage() == Stage(0));
}

TEST_CASE("reloads are issued as far ahead as is best, and what to paste says it") {
  // F 2, B 4, copies of 2.5: a reload that is issued one op ahead has an F to hide behind, which is too short.
  Assignments workload = tight();
  workload["costs.forward"] = "2";
  workload["costs.backward"] = "4";
  workload["costs.offload"] = "2.5";
  workload["memory.limit_bytes"] = "35";
  const auto step_of = [&](int ahead) {
    Assignments one = workload;
    one["options.offload"] = "{\"prefetch\": " + std::to_string(ahead) + "}";
    const Run run = study::evaluate(study::config_of(one), {});
    return study::over_limit_text(run).empty() ? run.metrics->step_time : kMaxTicks;
  };
  const Plan plan = plan_of(workload, {Vary::Offload});
  const PlanCandidate* all = find(plan, "1f1b, offload all");
  REQUIRE(all != nullptr);
  Ticks shortest = kMaxTicks;
  for (const int ahead : {1, 2, 3, 4, 6, 8}) shortest = std::min(shortest, step_of(ahead));
  CHECK(all->step_time == shortest);
  CHECK(all->step_time < step_of(1));
  const int ahead = study::config_of(study::assignments_of(all->config)).options.offload.prefetch;
  CHECK(plain_text_of(study::paste_section(*all, {}, 100))
            .find("offload    activations to the host behind their forward, stages all; loaded " +
                  std::to_string(ahead) + " ops ahead\n") != std::string::npos);
}

TEST_CASE("orders are searched with the copies that run beside them") {
  Assignments workload = tight();
  workload["costs.forward"] = workload["costs.backward_input"] = workload["costs.backward_weight"] = "4";
  workload["costs.backward"] = "8";
  workload["costs.offload"] = workload["costs.reload"] = "1";
  const Plan plan = plan_of(workload, {Vary::Offload, Vary::Order});
  const auto is_searched = [](const PlanCandidate& one) {
    return one.searched() && one.run.schedule->has_copies();
  };
  const auto found = std::ranges::find_if(plan.candidates, is_searched);
  REQUIRE(found != plan.candidates.end());
  // The file holds the order alone: its copies are an option of the configuration.
  CHECK_FALSE(found->queues()->has_copies());
  CHECK(study::over_limit_text(found->run).empty());
  const Run again = study::evaluate_schedule(found->order, "order",
                                             study::config_of(study::assignments_of(found->config)), {});
  CHECK(again.metrics->step_time == found->step_time);
  // It is the best: nothing else is as short. Two passes at a time are what fits without copies, and each is 4 * 8 on its way.
  CHECK(&plan.candidates.front() == &*found);
  for (const PlanCandidate& other : plan.candidates)
    if (!other.run.schedule->has_copies()) CHECK(found->step_time < other.step_time);
}

TEST_CASE("which stages offload is chosen with the order where costs are given, too") {
  Assignments workload = tight();
  workload["microbatches"] = "12";
  workload["costs.forward"] = workload["costs.backward_input"] = workload["costs.backward_weight"] = "1";
  workload["costs.backward"] = "2";
  // The second stage's copies are slow, and its rank has room for all passes.
  workload["costs.offload"] = workload["costs.reload"] = "[1, 6, 1, 1]";
  workload["memory.limit_bytes"] = "[25, 100, 25, 25]";
  study::PlanOptions options;
  options.ends_by_clock = false;
  for (const Vary one : {Vary::Offload, Vary::Order}) options.vary.add(one);
  options.seconds = 0.5;
  const Plan plan = study::make_plan(study::config_of(workload), options, {});
  REQUIRE_FALSE(plan.candidates.empty());
  const PlanCandidate& best = plan.candidates.front();
  CHECK(best.name == "searched linear, offload on stage 0");
  CHECK(study::over_limit_text(best.run).empty());
  const PlanCandidate* all = find(plan, "searched linear, offload all");
  REQUIRE(all != nullptr);
  CHECK(best.step_time < all->step_time);
  const Run again =
      study::evaluate_schedule(best.order, "order", study::config_of(study::assignments_of(best.config)), {});
  CHECK(again.metrics->step_time == best.step_time);
}

TEST_CASE("some stages recompute and others offload in one design") {
  // Two passes fit on a rank, and four are under way at once. Stage 1 would run its forwards again for 20, copies of the others would take 30, so stage 0
  // recomputes and stage 1 offloads. Rank 0 then has 8 times F, R, I and W to do: 8 * (2 + 1 + 2 + 2) = 56, and no pause.
  Assignments workload = tight();
  workload["costs.forward"] = workload["costs.backward_input"] = workload["costs.backward_weight"] = "2";
  workload["costs.backward"] = "4";
  workload["costs.recompute"] = "[1, 20, 1, 1]";
  workload["costs.offload"] = workload["costs.reload"] = "[30, 1, 30, 30]";
  workload["memory.released_at_input"] = "10";
  study::PlanOptions options;
  options.ends_by_clock = false;
  for (const Vary one : {Vary::Recompute, Vary::Offload, Vary::Order}) options.vary.add(one);
  options.seconds = 0.5;
  const Plan plan = study::make_plan(study::config_of(workload), options, {});
  REQUIRE_FALSE(plan.candidates.empty());
  const PlanCandidate& best = plan.candidates.front();
  CHECK(best.name == "searched linear, recompute full on stage 0, offload on stage 1");
  CHECK(best.step_time == 56 * kUnit);
  CHECK(study::over_limit_text(best.run).empty());
  CHECK(best.run.schedule->contains(OpKind::Recompute));
  CHECK(best.run.schedule->has_copies());
  const std::string paste = plain_text_of(study::paste_section(best, {}, 100));
  CHECK(paste.find("recompute  whole forwards, stages 0\n") != std::string::npos);
  CHECK(paste.find("offload    activations to the host behind their forward, stages 1; loaded ") !=
        std::string::npos);
}

TEST_CASE("orders that run forwards again hold what W needs, and fit") {
  // A pass is 10 from R to W and 1 before R, and 14 fit: one is whole at a time, beside four others.
  const Plan plan = again_within("14");
  REQUIRE_FALSE(plan.candidates.empty());
  const PlanCandidate& best = plan.candidates.front();
  CHECK(best.searched());
  CHECK(best.run.schedule->contains(OpKind::Recompute));
  CHECK(best.run.schedule->contains(OpKind::BackwardWeight));
  CHECK(study::over_limit_text(best.run).empty());
  const PlanCandidate* published = find(plan, "1f1b, recompute full on stages 0-2");
  REQUIRE(published != nullptr);
  CHECK(best.step_time < published->step_time);
}

TEST_CASE("what more memory would save is said of orders that run forwards again, too") {
  // Rank 0 alone is tight. It runs all forwards again, 8 * 4 = 32 without a pause; with one activation more it can do so.
  const Plan plan = again_within("[13, 100, 100, 100]");
  REQUIRE_FALSE(plan.candidates.empty());
  const PlanCandidate& best = plan.candidates.front();
  CHECK(best.name == "searched linear, recompute full on stage 0");
  CHECK(best.step_time > 32 * kUnit);
  REQUIRE_FALSE(plan.advice.empty());
  CHECK(plan.advice.front().text.starts_with("one activation more on rank 0 saves "));
  CHECK(plan.advice.front().run.metrics->step_time >= 32 * kUnit);
  CHECK(plan.advice.front().run.metrics->step_time < best.step_time);
}

TEST_CASE("under p95 orders with copies are weighed by it, too") {
  Assignments workload = tight();
  workload["costs.forward"] = workload["costs.backward_input"] = workload["costs.backward_weight"] = "4";
  workload["costs.backward"] = "8";
  workload["costs.offload"] = workload["costs.reload"] = "1";
  workload["costs.noise"] = R"({"model": "lognormal", "sigma": 0.1})";
  study::PlanOptions options;
  options.ends_by_clock = false;
  for (const Vary one : {Vary::Offload, Vary::Order}) options.vary.add(one);
  options.seconds = 0.5;
  const auto best_of = [&](study::PlanObjective objective) {
    options.objective = objective;
    return study::make_plan(study::config_of(workload), options, {}).candidates.front();
  };
  const PlanCandidate steady = best_of(study::PlanObjective::P95);
  const PlanCandidate shortest = best_of(study::PlanObjective::StepTime);
  REQUIRE(steady.p95);
  REQUIRE(shortest.p95);
  CHECK(steady.run.schedule->has_copies());
  CHECK(*steady.p95 < *shortest.p95);
  CHECK(steady.step_time >= shortest.step_time);
}

TEST_CASE("which stages offload is chosen together with placement and order") {
  const Assignments workload = {{"ranks", "8"},
                                {"microbatches", "8"},
                                {"schedule", "\"1f1b\""},
                                {"costs.model", "\"llama3-70b\""},
                                {"costs.hardware", "\"h100\""},
                                {"costs.tp", "4"},
                                {"costs.seq", "8192"},
                                {"memory.limit_bytes", "62000000000"}};
  const auto best_of = [&](std::initializer_list<Vary> vary) {
    study::PlanOptions options;
    options.ends_by_clock = false;
    for (const Vary one : vary) options.vary.add(one);
    options.seconds = 0.7;
    options.threads = 2;
    const Plan plan = study::make_plan(study::config_of(workload), options, {});
    REQUIRE_FALSE(plan.candidates.empty());
    return plan.candidates.front();
  };
  const PlanCandidate without = best_of({Vary::Order, Vary::Placement});
  const PlanCandidate with = best_of({Vary::Order, Vary::Placement, Vary::Offload});
  CHECK(static_cast<double>(with.step_time) < 0.9 * static_cast<double>(without.step_time));
  CHECK(with.name.find("offload on stage") != std::string::npos);
  CHECK(study::over_limit_text(with.run).empty());
  const OffloadOption offload = study::config_of(study::assignments_of(with.config)).options.offload;
  CHECK_FALSE(offload.stages.empty());
  CHECK(offload.stages.size() < static_cast<std::size_t>(with.run.schedule->stages()));
}

TEST_CASE("layers, placement and which stages recompute are chosen together") {
  const Assignments workload = {{"ranks", "4"},
                                {"microbatches", "8"},
                                {"schedule", "\"1f1b\""},
                                {"costs.model", "\"llama3-8b\""},
                                {"costs.hardware", "\"h100\""},
                                {"costs.seq", "4096"},
                                {"costs.micro_batch", "2"},
                                {"costs.flash", "false"},
                                {"memory.limit_bytes", "60000000000"}};
  const auto best_of = [&](std::initializer_list<Vary> vary) {
    study::PlanOptions options;
    options.ends_by_clock = false;
    for (const Vary one : vary) options.vary.add(one);
    options.seconds = 2;
    const Plan plan = study::make_plan(study::config_of(workload), options, {});
    REQUIRE_FALSE(plan.candidates.empty());
    return plan.candidates.front();
  };
  const PlanCandidate apart = best_of({Vary::Order, Vary::Recompute, Vary::Layers});
  const PlanCandidate together =
      best_of({Vary::Order, Vary::Recompute, Vary::Layers, Vary::Placement, Vary::Chunks});
  CHECK(static_cast<double>(together.step_time) < 0.99 * static_cast<double>(apart.step_time));
  CHECK(together.name.find("layers with it, recompute ") != std::string::npos);
  // What was chosen is what is printed: the configuration, the limit, and the run of both.
  const io::Config config = study::config_of(study::assignments_of(together.config));
  CHECK(config.options.recompute.on);
  CHECK_FALSE(config.options.recompute.stages.empty());
  CHECK(config.options.recompute.stages.size() < static_cast<std::size_t>(together.run.schedule->stages()));
  CHECK(study::over_limit_text(together.run).empty());
  // And what to paste says all of it, not the order alone.
  const std::string paste =
      plain_text_of(study::paste_section(together, study::verdicts_of(together, {}), 100));
  CHECK(paste.find("layers_of_stage = [[0, ") != std::string::npos);
  CHECK(paste.find("torchtitan is told recomputation for all stages alike, not for some") !=
        std::string::npos);
  CHECK(paste.find("recompute  ") != std::string::npos);
  CHECK(paste.find(", stages " + study::stage_ranges_text(config.options.recompute.stages) + "\n") !=
        std::string::npos);
}

TEST_CASE("where no schedule fits with the layers as they are, some fit with others") {
  // The last of four stages holds the head besides its 8 of 32 layers and is alone over the limit; with fewer layers it is not.
  study::PlanOptions options;
  options.ends_by_clock = false;
  for (const Vary one : {Vary::Recompute, Vary::Layers}) options.vary.add(one);
  const Plan plan = study::make_plan(study::config_of({{"ranks", "4"},
                                                       {"microbatches", "8"},
                                                       {"schedule", "\"1f1b\""},
                                                       {"costs.model", "\"llama3-8b\""},
                                                       {"costs.hardware", "\"h100\""},
                                                       {"costs.seq", "4096"},
                                                       {"costs.flash", "false"},
                                                       {"memory.limit_bytes", "44000000000"}}),
                                     options, {});
  CHECK(std::ranges::all_of(plan.over, [](const auto& one) { return one.layers == std::vector(4, 8); }));
  REQUIRE(plan.candidates.size() == 1);
  const PlanCandidate& only = plan.candidates.front();
  CHECK(only.name == "1f1b, recompute full");
  CHECK(only.layers.back() < 8);
  CHECK(std::accumulate(only.layers.begin(), only.layers.end(), 0) == 32);
  CHECK(study::over_limit_text(only.run).empty());
}

TEST_CASE("a plan finds how few layers of each stage run again, for targets that are told a number") {
  // What 1F1B holds where 5 of the 8 layers of a stage run again is the limit, so 5 are the fewest.
  const auto peak_of = [](int layers) {
    return most_held(llama(fmt::format(R"("recompute": {{"layers": {}}})", layers)));
  };
  REQUIRE(peak_of(4) > peak_of(5));
  const auto plan_for = [&](const char* target) {
    study::PlanOptions options;
    options.ends_by_clock = false;
    options.vary.add(Vary::Recompute);
    if (target != nullptr) options.target = &study::target_named(target);
    return study::make_plan(within(peak_of(5), llama("")), options, {});
  };
  const std::string name = "1f1b, recompute 5 of 8 layers";
  for (const char* target : {static_cast<const char*>(nullptr), "megatron-core-0.19.2", "torch-2.15"}) {
    const Plan plan = plan_for(target);
    const PlanCandidate* found = find(plan, name);
    REQUIRE(found != nullptr);
    CHECK(found->config.options.recompute.layers == 5);
    const PlanCandidate* full = find(plan, "1f1b, recompute full");
    REQUIRE(full != nullptr);
    CHECK(found->step_time < full->step_time);
    CHECK(found->peak > full->peak);
    const Run again = study::evaluate(study::config_of(study::assignments_of(found->config)), {});
    CHECK(again.metrics->step_time == found->step_time);
  }
  const Plan megatron = plan_for("megatron-core-0.19.2");
  CHECK(megatron.candidates.front().name == name);
  const std::string paste =
      plain_text_of(study::paste_section(megatron.candidates.front(), megatron.to_run, 100));
  CHECK(paste.find("--recompute-method block --recompute-num-layers 5") != std::string::npos);
  // torchtitan computes all layers again or none.
  CHECK(find(plan_for("torchtitan-0.3.0"), name) == nullptr);
}

TEST_CASE("where all layers one by one do not fit, groups of them may") {
  // GPipe's ranks hold 32 microbatches, so the inputs that groups leave out count for more than the layer that comes back beside another.
  const auto held = [](const std::string& options) { return most_held(llama(options, "gpipe", 32)); };
  const Bytes groups = held(R"("recompute": {"layers": 2, "method": "uniform"})");
  REQUIRE(groups < held(R"("recompute": "full")"));
  study::PlanOptions options;
  options.ends_by_clock = false;
  options.headroom = 0;
  options.vary.add(Vary::Recompute);
  const Plan plan = study::make_plan(within(groups, llama("", "gpipe", 32)), options, {});
  REQUIRE_FALSE(plan.candidates.empty());
  CHECK(plan.candidates.front().name == "gpipe, recompute full in groups of 2 layers");
}

TEST_CASE("for a target recomputation stays one for all stages") {
  study::PlanOptions options;
  options.ends_by_clock = false;
  for (const Vary one : {Vary::Order, Vary::Recompute, Vary::Layers}) options.vary.add(one);
  options.seconds = 1;
  options.target = &study::target_named("torch-2.15");
  const Plan plan = study::make_plan(study::config_of({{"ranks", "4"},
                                                       {"microbatches", "8"},
                                                       {"schedule", "\"1f1b\""},
                                                       {"costs.model", "\"llama3-8b\""},
                                                       {"costs.hardware", "\"h100\""},
                                                       {"costs.micro_batch", "2"},
                                                       {"costs.flash", "false"},
                                                       {"memory.limit_bytes", "60000000000"}}),
                                     options, {});
  REQUIRE_FALSE(plan.candidates.empty());
  for (const PlanCandidate& candidate : plan.candidates) {
    CAPTURE(candidate.name);
    CHECK(study::config_of(study::assignments_of(candidate.config)).options.recompute.stages.empty());
  }
}

TEST_CASE("a plan says of a means that it could not try what stands in its way") {
  Assignments workload = tight();
  workload["costs.forward"] = "1";
  workload["costs.backward"] = "2";
  workload["memory.limit_bytes"] = "35";
  const Plan plan = plan_of(workload, {Vary::Offload});
  const auto said =
      std::ranges::find(plan.rejected, "1f1b, offload on some stages", &study::PlanRejected::name);
  REQUIRE(said != plan.rejected.end());
  CHECK(said->why.find("costs.offload is missing") != std::string::npos);
}

}  // namespace some_stages_test
