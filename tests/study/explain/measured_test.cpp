// Real runs that others published (tests/golden/measured): the culprits that are known of them are named.

#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>

#include "schedules/generator.hpp"
#include "sim/engine/simulator.hpp"
#include "study/explain/explain.hpp"
#include "study/explain/robust.hpp"
#include "support/catch.hpp"

namespace pipeloom::study::explain::measured_test {
namespace {

using nlohmann::json;

constexpr Ticks kMs = 1'000'000'000;
constexpr Ticks kUs = 1'000'000;

json golden(const std::string& name) {
  std::ifstream file(std::string(PIPELOOM_GOLDEN_DIR) + "/measured/" + name + ".json");
  REQUIRE(file);
  return json::parse(file);
}

std::shared_ptr<const Schedule> one_f_one_b(int ranks, int microbatches) {
  const Params params{.ranks = ranks, .microbatches = microbatches};
  return std::make_shared<const Schedule>(schedules::make(*schedules::find("1f1b").generator, params));
}

/// Costs of 1F1B, one stage a rank: forward[r] and backward[r].
Costs costs_of(const Schedule& schedule, const std::vector<double>& forward,
               const std::vector<double>& backward, Ticks scale, Ticks latency) {
  Costs costs = uniform_costs(schedule.placement(), {.delay = latency, .unit = TimeUnit::Millisecond});
  for (std::size_t r = 0; r < forward.size(); ++r) {
    costs.duration[index_of(OpKind::Forward)][r] = std::llround(forward[r] * static_cast<double>(scale));
    costs.duration[index_of(OpKind::Backward)][r] = std::llround(backward[r] * static_cast<double>(scale));
  }
  return costs;
}

Predicted predicted_under(const std::shared_ptr<const Schedule>& schedule, const Costs& costs) {
  return {.timeline = simulate(schedule, costs), .costs = std::make_shared<const Costs>(costs)};
}

/// The step of a pipeline whose ops took f_us and b_us, messages as `costs` say.
Timeline replayed(const std::shared_ptr<const Schedule>& schedule, Costs costs, const json& pipeline) {
  for (std::size_t i = 0; i < schedule->num_ops(); ++i) {
    const Op op = schedule->ops()[i];
    const char* const key = op.kind() == OpKind::Forward ? "f_us" : "b_us";
    const double us = pipeline[key][op.stage().at()][op.microbatch().at()];
    costs.per_op.push_back(std::llround(us * static_cast<double>(kUs)));
  }
  return simulate(schedule, costs);
}

/// [rank]: the median over the microbatches of these pipelines.
std::vector<double> medians(const std::vector<const json*>& pipelines, const char* key, std::size_t ranks) {
  std::vector<double> of_rank;
  for (std::size_t r = 0; r < ranks; ++r) {
    std::vector<double> all;
    for (const json* pipeline : pipelines)
      for (const double us : (*pipeline)[key][r]) all.push_back(us);
    of_rank.push_back(median_of(all));
  }
  return of_rank;
}

Ticks sum_of(const Explanation& found) {
  Ticks sum = 0;
  for (const Cause& cause : found.causes) sum += cause.amount;
  return sum;
}

template <class IsMeant>
Ticks amount_of(const Explanation& found, IsMeant&& is_meant) {
  Ticks sum = 0;
  for (const Cause& cause : found.causes)
    if (is_meant(cause)) sum += cause.amount;
  return sum;
}

std::string told(const Explanation& found) {
  std::string text;
  for (const Cause& cause : found.causes)
    text += std::to_string(static_cast<double>(cause.amount) / kMs) + " ms  " + cause.text + "\n";
  return text;
}

}  // namespace

TEST_CASE("a slow last stage is named where the other ranks predict it", "[explain]") {
  // The head stands on rank 3: its forwards take about 72 ms more than those of ranks 0 to 2, its backwards about 60.
  const json file = golden("stragglers_st");
  const auto schedule = one_f_one_b(4, 4);
  for (const json& step : file["steps"])
    for (const json& pipeline : step["pipelines"]) {
      std::vector<double> forward = medians({&pipeline}, "f_us", 4);
      std::vector<double> backward = medians({&pipeline}, "b_us", 4);
      forward[3] = median_of({forward[0], forward[1], forward[2]});
      backward[3] = median_of({backward[0], backward[1], backward[2]});
      const Costs costs = costs_of(*schedule, forward, backward, kUs, 400 * kUs);
      const Explanation found =
          explain(predicted_under(schedule, costs), replayed(schedule, costs, pipeline));
      INFO(told(found));
      CHECK(sum_of(found) == found.measured - found.predicted);
      REQUIRE(!found.causes.empty());
      CHECK(found.causes[0].rank == Rank(3));
      CHECK(amount_of(found, [](const Cause& c) { return c.rank == Rank(3); }) >
            (found.measured - found.predicted) * 9 / 10);
      // A head is a time on top: one for both kinds where that fits, else each kind's own, as another name of two factors.
      if (found.causes[0].added) {
        CHECK(static_cast<double>(*found.causes[0].added) / kMs == Approx(66).margin(8));
      } else {
        const std::string& each = found.causes[0].equivalent.back();
        CHECK_THAT(each, Catch::Matchers::EndsWith("ms more each B"));
        CHECK(std::stod(each) == Approx(72).margin(4));  // a forward's
      }
      REQUIRE(found.stragglers);
      CHECK(found.stragglers->workers.ranks == std::vector<Rank>{Rank(3)});
      CHECK(found.stragglers->last_stage.ranks == std::vector<Rank>{Rank(3)});
    }
}

TEST_CASE("a slow worker is named where the other pipelines predict it", "[explain]") {
  // Rank 0 of pipeline 0 takes about 2.39 times as long; the others have no culprit.
  const json file = golden("stragglers_ar");
  const auto schedule = one_f_one_b(4, 32);
  for (const json& step : file["steps"]) {
    const json& pipelines = step["pipelines"];
    for (const json& pipeline : pipelines) {
      std::vector<const json*> others;
      for (const json& other : pipelines)
        if (other["dp"] != pipeline["dp"] && other["dp"] != 0) others.push_back(&other);
      const Costs costs =
          costs_of(*schedule, medians(others, "f_us", 4), medians(others, "b_us", 4), kUs, 1000 * kUs);
      const Explanation found =
          explain(predicted_under(schedule, costs), replayed(schedule, costs, pipeline));
      INFO("dp " << pipeline["dp"] << "\n" << told(found));
      CHECK(sum_of(found) == found.measured - found.predicted);
      if (pipeline["dp"] == 0) {
        CHECK(found.causes[0].rank == Rank(0));
        // 2.39 with its forwards and backwards taken together, which differ by a tenth.
        CHECK(found.causes[0].factor.value_or(0) == Approx(2.39).epsilon(0.1));
        CHECK(amount_of(found, [](const Cause& c) { return c.rank == Rank(0); }) >
              (found.measured - found.predicted) * 9 / 10);
        REQUIRE(found.stragglers);
        CHECK(found.stragglers->workers.ranks == std::vector<Rank>{Rank(0)});
      } else {
        CHECK(found.measured - found.predicted < found.predicted / 20);
      }
    }
  }
}

TEST_CASE("what a run on eight GPUs lost against its medians is named", "[explain]") {
  // Predicted from each rank's median F and B, without any time for messages.
  const json file = golden("primus");
  const json& run = file["runs"]["1f1b"];
  const auto schedule = one_f_one_b(8, 16);
  const Costs costs = costs_of(*schedule, run["forward_median_ms"], run["backward_median_ms"], kMs, 0);
  for (const json& step : run["steps"]) {
    Timeline measured{
        .schedule = schedule, .steps = 1, .unit = TimeUnit::Millisecond, .start = {}, .end = {}};
    for (std::size_t i = 0; i < schedule->num_ops(); ++i) {
      const Op op = schedule->ops()[i];
      const bool forward = op.kind() == OpKind::Forward;
      const auto at = [&](const char* key) {
        const double ms = step[key][op.stage().at()][op.microbatch().at()];
        return std::llround(ms * static_cast<double>(kMs));
      };
      measured.start.push_back(at(forward ? "f_start" : "b_start"));
      measured.end.push_back(at(forward ? "f_end" : "b_end"));
    }
    const Explanation found = explain(predicted_under(schedule, costs), measured);
    INFO("step " << step["step"] << "\n" << told(found));
    CHECK(sum_of(found) == found.measured - found.predicted);
    // Messages hold both of their ranks for 0.3 to 0.4 ms.
    CHECK(amount_of(found, [](const Cause& c) { return c.kind == CauseKind::MessageTime; }) > 15 * kMs);
    // The last backward of rank 0 takes 18 ms longer than its repeats, with nothing behind it.
    const auto last = [](const Cause& c) {
      return c.kind == CauseKind::Hiccup && c.rank == Rank(0) && !c.ops.empty() &&
             c.ops.back() == backward(Stage(0), Microbatch(15));
    };
    CHECK(amount_of(found, last) > 15 * kMs);
    // So do the first forwards of the ranks, by some 3 %.
    const auto first = [](const Cause& c) {
      return c.microbatch == Microbatch(0) && c.op_kind == OpKind::Forward;
    };
    CHECK(amount_of(found, first) > 10 * kMs);
  }
}

}  // namespace pipeloom::study::explain::measured_test
