// A plan's rows against what the product says of their configurations, and answers that were wrong once.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include "schedules/generator.hpp"
#include "sim/io/formats/schedule_json.hpp"
#include "study/plan/budget.hpp"
#include "study/plan/candidates.hpp"
#include "study/plan/plan.hpp"
#include "study/plan/ranking.hpp"
#include "study/run/assignments.hpp"
#include "study/run/evaluate.hpp"
#include "support/catch.hpp"
#include "support/temporary.hpp"

namespace plan_rows_test {

using namespace pipeloom;
using study::Assignments;
using study::Plan;
using study::PlanCandidate;
using study::PlanOptions;
using study::Vary;

namespace {

constexpr Ticks kUnit = 1'000'000'000;

PlanOptions options(std::initializer_list<Vary> varies = {Vary::Schedule, Vary::Chunks, Vary::Placement,
                                                          Vary::Order},
                    double seconds = 0.05) {
  PlanOptions out;
  out.ends_by_clock = false;
  for (const Vary vary : varies) out.vary.add(vary);
  out.seconds = seconds;
  return out;
}

Plan plan_of(const Assignments& workload, const PlanOptions& asked = options()) {
  return study::make_plan(study::config_of(workload), asked, {});
}

const PlanCandidate* find(const Plan& plan, const std::string& name) {
  const auto found = std::ranges::find(plan.candidates, name, &PlanCandidate::name);
  return found == plan.candidates.end() ? nullptr : &*found;
}

/// The configuration that the plan prints for a row, its order in the file that it names.
Assignments printed(const PlanCandidate& row, const std::string& file) {
  Assignments out = study::assignments_of(row.config);
  if (!row.searched()) return out;
  std::ostringstream text;
  io::write_schedule_json(text, *row.queues());
  std::ofstream(file) << text.str();
  out["options.file"] = '"' + file + '"';
  return out;
}

double peak_of(const Run& run) {
  Bytes most = 0;
  for (const RankMetrics& rank : run.metrics->ranks) most = std::max(most, rank.memory.peak_bytes);
  return run.memory->in_bytes(most);
}

/// Workloads of all kinds: schedules with one and several stages a rank, costs and sizes in several units and of ranks, limits.
std::vector<Assignments> workloads() {
  const std::vector<Assignments> schedules = {
      {{"schedule", "\"1f1b\""}},
      {{"schedule", "\"interleaved-1f1b\""}, {"chunks", "2"}},
      {{"schedule", "\"zbv\""}},
      {{"schedule", "\"interleaved-1f1b\""}, {"chunks", "3"}},
      {{"schedule", "\"zb-h1\""}, {"options.recompute", "{\"keep\": 1}"}}};
  const std::vector<Assignments> costs = {
      {},
      {{"costs.forward", "1.3"},
       {"costs.backward_input", "1.1"},
       {"costs.backward_weight", "0.7"},
       {"costs.transfer.latency", "0.2"}},
      {{"costs.forward", "\"10ms\""}, {"costs.backward", "\"21ms\""}, {"costs.per", "\"rank\""}},
      {{"costs.forward", "2"},
       {"costs.backward", "4"},
       {"costs.overlapped", "3.5"},
       {"step.optimizer", "1.5"}}};
  const std::vector<Assignments> memories = {
      {},
      {{"memory.limit_bytes", "4"}},
      {{"memory.activation_bytes", "37"}, {"memory.released_at_input", "5"}, {"memory.limit_bytes", "200"}},
      {{"memory.activation_bytes", "\"1.5GB\""}, {"memory.static_bytes", "\"7GB\""}},
      {{"memory.per", "\"rank\""}, {"memory.activation_bytes", "10"}, {"memory.limit_bytes", "45"}}};
  const std::vector<Assignments> shapes = {{{"ranks", "2"}, {"microbatches", "5"}},
                                           {{"ranks", "4"}, {"microbatches", "6"}}};
  std::vector<Assignments> out;
  for (const Assignments& schedule : schedules)
    for (const Assignments& cost : costs)
      for (const Assignments& memory : memories)
        for (const Assignments& shape : shapes) {
          Assignments one = schedule;
          for (const auto* part : {&cost, &memory, &shape}) one.insert(part->begin(), part->end());
          out.push_back(std::move(one));
        }
  return out;
}

}  // namespace

TEST_CASE("every row of a plan, given back as it is printed, simulates to the same step and peak",
          "[quality]") {
  const test::Folder folder("plan_rows");
  const std::vector<Assignments> all = workloads();
  REQUIRE(all.size() == 200);
  std::size_t rows = 0;
  for (const Assignments& workload : all) {
    CAPTURE(workload);
    const Plan plan =
        plan_of(workload, options({Vary::Schedule, Vary::Chunks, Vary::Placement, Vary::Order}, 0.01));
    for (const PlanCandidate& row : plan.candidates) {
      CAPTURE(row.name);
      const Run run = study::evaluate(study::config_of(printed(row, folder / "order.json")), {});
      CHECK(run.metrics->step_time == row.step_time);
      CHECK(peak_of(run) == row.peak);
      ++rows;
    }
  }
  CHECK(rows > 2000);
}

namespace {

/// Workloads whose winners are of all kinds: published and searched orders, schedule files, one and several stages a rank, limits, layers, pairs.
std::vector<Assignments> winners(const test::Folder& folder) {
  std::ofstream(folder / "v.csv") << "0F0,0F1,3F0,3F1,3B0,3B1,0B0,0B1\n1F0,1F1,2F0,2F1,2B0,2B1,1B0,1B1\n";
  const Assignments small = {{"ranks", "4"}, {"microbatches", "8"}};
  const Assignments unequal = {{"costs.forward", "1"},
                               {"costs.backward_input", "1.3"},
                               {"costs.backward_weight", "0.8"},
                               {"costs.transfer.latency", "0.1"}};
  const Assignments pairs = {{"costs.forward", "1"},
                             {"costs.backward_input", "1"},
                             {"costs.backward_weight", "1"},
                             {"costs.overlapped", "{\"factor\": 0.8}"}};
  const Assignments layers = {{"costs.layers", "[4, 4, 4, 4]"},
                              {"costs.forward", "4"},
                              {"costs.backward", "8"},
                              {"costs.rank_scale", "[1, 1, 1, 1.5]"}};
  std::vector<Assignments> out;
  const auto add = [&](std::initializer_list<Assignments> parts) {
    Assignments one;
    for (const Assignments& part : parts) one.insert(part.begin(), part.end());
    out.push_back(std::move(one));
  };
  add({small, {{"schedule", "\"1f1b\""}}});
  add({small, {{"schedule", "\"v-half\""}, {"memory.limit_bytes", "6"}}});
  add({small, unequal, {{"schedule", "\"1f1b\""}}});
  add({small, unequal, {{"schedule", "\"1f1b\""}, {"memory.limit_bytes", "3"}}});
  add({small, unequal, {{"schedule", "\"zbv\""}, {"memory.limit_bytes", "6"}}});
  add({small, unequal, {{"schedule", "\"interleaved-1f1b\""}, {"chunks", "3"}}});
  add({small, unequal, {{"schedule", "\"interleaved-1f1b\""}, {"chunks", "2"}, {"memory.limit_bytes", "7"}}});
  add({small, pairs, {{"schedule", "\"1f1b\""}}});
  add({small, pairs, {{"schedule", "\"zbv\""}, {"memory.limit_bytes", "6"}}});
  add({small, layers, {{"schedule", "\"1f1b\""}}});
  add({small, layers, {{"schedule", "\"interleaved-1f1b\""}, {"memory.limit_bytes", "5"}}});
  add({{{"schedule", "\"custom\""}, {"options.file", '"' + (folder / "v.csv") + '"'}}});
  add({unequal,
       {{"schedule", "\"custom\""},
        {"options.file", '"' + (folder / "v.csv") + '"'},
        {"memory.limit_bytes", "3"}}});
  return out;
}

}  // namespace

TEST_CASE("a plan of its own winner changes nothing") {
  const test::Folder folder("plan_winner");
  const PlanOptions asked =
      options({Vary::Schedule, Vary::Chunks, Vary::Placement, Vary::Layers, Vary::Order});
  std::size_t searched = 0;
  for (const Assignments& workload : winners(folder)) {
    CAPTURE(workload);
    const Plan first = plan_of(workload, asked);
    REQUIRE_FALSE(first.candidates.empty());
    const PlanCandidate& winner = first.candidates.front();
    CAPTURE(winner.name);
    if (winner.searched()) ++searched;
    const Plan again = plan_of(printed(winner, folder / "winner.json"), asked);
    REQUIRE(again.baseline);
    CHECK(again.baseline->step_time == winner.step_time);
    CHECK(again.baseline->peak == winner.peak);
    REQUIRE(again.baseline_among);
    // Its stages are all of the model, whatever the file leaves unsaid: nothing takes a part of the work only. Of equal steps the least peak wins.
    CHECK(static_cast<double>(again.candidates.front().step_time) <=
          (1 + study::kSameStep) * static_cast<double>(winner.step_time));
    CHECK(again.candidates.front().step_time >= winner.bound.value);
    if (winner.proven && winner.searched()) CHECK(again.candidates.front().step_time == winner.step_time);
  }
  CHECK(searched >= 3);
}

TEST_CASE("a schedule file of several stages a rank is the whole model to other schedules") {
  const test::Folder folder("plan_file");
  std::ofstream(folder / "v.csv") << "0F0,0F1,3F0,3F1,3B0,3B1,0B0,0B1\n1F0,1F1,2F0,2F1,2B0,2B1,1B0,1B1\n";
  const Plan plan = plan_of({{"schedule", "\"custom\""},
                             {"options.file", '"' + (folder / "v.csv") + '"'},
                             {"costs.forward", "1"},
                             {"costs.backward", "2"}});
  // Every rank has two stages, two microbatches and F + B = 3 to do: no schedule of the same model takes less than 12.
  REQUIRE(plan.baseline);
  CHECK(plan.baseline->chunks == 2);
  CHECK(plan.candidates.front().step_time == 12 * kUnit);
  REQUIRE(plan.baseline_among);
  CHECK(plan.candidates[*plan.baseline_among].now);
}

TEST_CASE("a limit in bytes of an option counts as the sizes beside it do") {
  // 296 are 8 activations of a stage: zbv-auto needs 2 p = 4 on two ranks, and 16 on eight.
  Assignments workload = {{"schedule", "\"zbv-auto\""},
                          {"ranks", "2"},
                          {"microbatches", "8"},
                          {"options.memory_limit.bytes", "296"},
                          {"memory.activation_bytes", "37"}};
  const Plan plan = plan_of(workload);
  REQUIRE(plan.baseline);
  REQUIRE(plan.baseline_among);
  CHECK(plan.baseline->peak <= 296);
  CHECK(plan.baseline->step_time == study::evaluate(study::config_of(workload), {}).metrics->step_time);
  workload["ranks"] = "8";
  const Plan refused = plan_of(workload);
  const auto told = std::ranges::find(refused.rejected, "zbv-auto", &study::PlanRejected::name);
  REQUIRE(told != refused.rejected.end());
  CHECK(told->why.find("the limit is 8 activations of a stage") != std::string::npos);
}

TEST_CASE("what runs now is a candidate that nothing slower beats, though its own search is slow") {
  const Plan plan = plan_of({{"schedule", "\"v-adaptive\""},
                             {"ranks", "8"},
                             {"microbatches", "32"},
                             {"memory.activation_bytes", "1"},
                             {"memory.limit_bytes", "6"}},
                            options({Vary::Schedule, Vary::Chunks, Vary::Placement, Vary::Order}, 0.2));
  REQUIRE(plan.baseline);
  CHECK(plan.baseline->step_time == 240 * kUnit);
  REQUIRE(plan.baseline_among);
  CHECK(plan.candidates.front().step_time <= 240 * kUnit);
  // Where nothing is as fast and holds no more, it is on the front.
  const PlanCandidate& now = plan.candidates[*plan.baseline_among];
  const bool beaten = std::ranges::any_of(plan.candidates, [&](const PlanCandidate& other) {
    return !other.now && other.step_time <= now.step_time && other.peak <= now.peak;
  });
  CHECK((beaten || std::ranges::find(plan.pareto, *plan.baseline_among) != plan.pareto.end()));
}

TEST_CASE("a search of a schedule's own gets what the budget has room for: all, its first part, or nothing") {
  // A search may take a tenth of the half that is for simulations, 0.1 of 2 s, its first part 0.6 of that half.
  study::Budget budget(2, 1);
  CHECK(budget.take({.seconds = 0.09, .first_seconds = 0.05, .is_search = true}) == 1);
  CHECK(budget.take({.seconds = 4, .first_seconds = 0.5, .is_search = true}) == 0.125);
  CHECK(budget.take({.seconds = 4, .first_seconds = 0.61, .is_search = true}) == 0);
  // 0.09 + 0.5 of 1 s are taken.
  CHECK(budget.take({.seconds = 0.42}) == 0);
  CHECK(budget.take({.seconds = 0.4}) == 1);
}

TEST_CASE(
    "v-adaptive is a candidate where a plan has room for the first part of its search only, and its variant "
    "says "
    "so where that proves nothing") {
  // 8 x 32 x 2 passes of F, I and W: reckoned at 0.24 s, of which a plan of 0.3 s has room for a tenth. Within 12 passes the closed form is
  // 6m + 6p - 3k - 1 = 203 between a rank's first and last op.
  Assignments workload = {{"schedule", "\"v-half\""},   {"ranks", "8"},
                          {"microbatches", "32"},       {"memory.activation_bytes", "1"},
                          {"memory.limit_bytes", "12"}, {"step.rule", "\"post-validation\""}};
  const Plan plan = plan_of(workload, options({Vary::Schedule, Vary::Placement}, 0.3));
  const PlanCandidate* found = find(plan, "v-adaptive");
  REQUIRE(found != nullptr);
  CHECK(found->window == 203 * kUnit);
  CHECK(found->peak <= 12);
  workload["memory.limit_bytes"] = "6";
  const Plan tight = plan_of(workload, options({Vary::Schedule, Vary::Placement}, 0.3));
  CHECK(find(tight, "v-adaptive") == nullptr);
  const PlanCandidate* shorter = find(tight, "v-adaptive (short search)");
  REQUIRE(shorter != nullptr);
  CHECK(shorter->config.options.variant == "short");
  CHECK(shorter->peak <= 6);
  const Run again = study::evaluate(study::config_of(study::assignments_of(shorter->config)), {});
  CHECK(again.metrics->step_time == shorter->step_time);
  CHECK(again.metrics->max_window == shorter->window);
  // 200 x 800 x 2 passes of three ops at 5 us and a tenth of a second are 4.9 s, more than 0.6 of half of 2 s.
  workload["ranks"] = "200";
  workload["microbatches"] = "800";
  const Plan large = plan_of(workload, options({Vary::Schedule, Vary::Placement}, 2));
  const auto told = std::ranges::find(large.rejected, "v-adaptive", &study::PlanRejected::name);
  REQUIRE(told != large.rejected.end());
  CHECK(told->refusal == study::Refusal::NotTried);
  CHECK(told->why.find("the first part of it 4.9 s") != std::string::npos);
}

TEST_CASE("costs whose layers are given are enough to deal layers out") {
  // 8 layers a stage at F + B = 1.5 each, two ranks 2.5 times as slow: even stages take (20 + 4) 8 * 1.5 * 2.5 and more. By brute force over all splits
  // of 40 layers that keep ranks 2 and 3 at 2 to 6, 11, 11, 4, 4, 10 is best: 387.
  const Plan plan = plan_of({{"schedule", "\"1f1b\""},
                             {"ranks", "5"},
                             {"microbatches", "20"},
                             {"costs.layers", "[8, 8, 8, 8, 8]"},
                             {"costs.forward", "4"},
                             {"costs.backward", "8"},
                             {"costs.rank_scale", "[1, 1, 2.5, 2.5, 1]"}},
                            options({Vary::Layers}, 1));
  REQUIRE_FALSE(plan.candidates.empty());
  const PlanCandidate& best = plan.candidates.front();
  CHECK(best.step_time == 387 * kUnit);
  CHECK(best.layers == std::vector{11, 11, 4, 4, 10});
  REQUIRE(plan.baseline);
  CHECK(plan.baseline->step_time == 656 * kUnit);
  const Run again = study::evaluate(study::config_of(study::assignments_of(best.config)), {});
  CHECK(again.metrics->step_time == best.step_time);
}

TEST_CASE("a plan that may vary layers and knows of none says so") {
  const Plan plan =
      plan_of({{"schedule", "\"1f1b\""}, {"ranks", "2"}, {"microbatches", "2"}}, options({Vary::Layers}));
  CHECK(std::ranges::any_of(plan.warnings, [](const std::string& warning) {
    return warning.find("costs.layers") != std::string::npos;
  }));
}

TEST_CASE("interleaved orders are tried with every legal size of groups") {
  // F = 4 / v, B = 8 / v, p = 4. m = 6: N = p leaves a rest of 2, which Megatron-LM refuses; with one group of all, v = 4 takes
  // (m v + p - 1)(F + B) = 27 * 3 = 81.
  const auto best = [](int microbatches, const std::string& name) {
    const Plan plan = plan_of({{"schedule", "\"1f1b\""},
                               {"ranks", "4"},
                               {"microbatches", std::to_string(microbatches)},
                               {"costs.forward", "4"},
                               {"costs.backward", "8"}},
                              options({Vary::Schedule, Vary::Chunks, Vary::Placement}, 1));
    const PlanCandidate* found = find(plan, name);
    REQUIRE(found != nullptr);
    return found->step_time;
  };
  CHECK(best(6, "interleaved-1f1b v=4 N=6") == 81 * kUnit);
  CHECK(best(7, "interleaved-1f1b v=4 N=7") == 93 * kUnit);
  // m = 13: the remainder in the first group of 5 takes 87 with two stages a rank of F + B = 3; groups of 4 take 98, of 5 take 89 (Paddle's dynamic graph).
  CHECK(best(13, "interleaved-1f1b N=5,4,..") == 2 * 87 * kUnit);
  for (const char* name :
       {"interleaved-1f1b v=4 N=5", "interleaved-1f1b v=4 N=6", "interleaved-1f1b v=4 N=10"})
    CHECK(best(10, name) == 129 * kUnit);
}

TEST_CASE("unequal groups of long runs are simulated by their run alone") {
  const schedules::Generator& generator = *schedules::find("interleaved-1f1b").generator;
  // Groups of 3 and 2 in turn, which hang on four ranks (tests/schedules/group_sizes_test.cpp), and a last one.
  const auto worth = [&](int microbatches, int last) {
    std::vector<int> sizes;
    for (int sum = 0; sum + last < microbatches; sum += sizes.back())
      sizes.push_back(sizes.size() % 2 == 0 ? 3 : 2);
    sizes.push_back(last);
    return study::is_worth_a_run(
        generator,
        {.ranks = 4, .microbatches = microbatches, .chunks = 2, .options = {.group_size = std::move(sizes)}});
  };
  CHECK_FALSE(worth(8, 3));
  // 2 * 4 * 2 * 8,192 = 131,072 ops, and 16 more: 1,638 times 3 + 2, then 2 or 3.
  CHECK_FALSE(worth(8192, 2));
  CHECK(worth(8193, 3));
  // 5 * 1,638 + 4 is more than 8,193, which no run has to tell.
  CHECK_FALSE(worth(8193, 4));
}

TEST_CASE("stages of a rank go up to one layer each") {
  // 20 layers on 4 ranks: 5 stages of one layer each.
  const Plan plan = plan_of({{"schedule", "\"1f1b\""},
                             {"ranks", "4"},
                             {"microbatches", "8"},
                             {"costs.layers", "[5, 5, 5, 5]"},
                             {"costs.forward", "5"},
                             {"costs.backward", "10"}},
                            options({Vary::Schedule, Vary::Chunks, Vary::Placement}, 1));
  const PlanCandidate* most = find(plan, "interleaved-1f1b v=5");
  REQUIRE(most != nullptr);
  CHECK(most->step_time == (8 * 5 + 3) * 3 * kUnit);  // (m v + p - 1)(F + B) of a stage
  CHECK(find(plan, "interleaved-1f1b v=6") == nullptr);
}

TEST_CASE("a plan whose schedules take longer than its budget simulates the most promising ones") {
  // 20,000 passes each way and several of a hundred variants: a hundredth of a second has room for some.
  const Plan plan = plan_of({{"schedule", "\"1f1b\""}, {"ranks", "100"}, {"microbatches", "200"}},
                            options({Vary::Schedule, Vary::Chunks, Vary::Placement}, 0.01));
  REQUIRE(plan.baseline_among);
  CHECK(plan.candidates.front().step_time < plan.baseline->step_time);
  CHECK(std::ranges::any_of(plan.rejected, [](const auto& one) { return one.why.starts_with("not tried"); }));
}

TEST_CASE("a workload that takes much longer to simulate than the budget is refused, with both figures") {
  CHECK_THROWS_WITH(plan_of({{"schedule", "\"1f1b\""}, {"ranks", "4096"}, {"microbatches", "65536"}}),
                    Catch::Matchers::Contains("GB") && Catch::Matchers::Contains("give --budget"));
}

TEST_CASE("zb-auto names a limit that it takes") {
  // The first two ranks hold 14 at most for a microbatch, the third 1000: three microbatches of 14 are no room for one there.
  Assignments run = {{"schedule", "\"zb-2p\""},
                     {"ranks", "3"},
                     {"microbatches", "3"},
                     {"memory.activation_bytes", "[5, 14, 1000]"}};
  std::string limit;
  try {
    (void)study::evaluate(study::config_of(run), {});
  } catch (const ScheduleError& error) {
    const std::string text = error.what();
    const std::string before = "options.memory_limit.microbatches = ";
    REQUIRE(text.find(before) != std::string::npos);
    limit = text.substr(text.find(before) + before.size());
  }
  CHECK(limit == "72");  // 72 * 14 = 1008 is the first multiple that holds 1000
  run["options.memory_limit.microbatches"] = limit;
  CHECK_NOTHROW(study::evaluate(study::config_of(run), {}));
}

}  // namespace plan_rows_test
