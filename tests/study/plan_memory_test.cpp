// More memory never makes a plan worse: an order that fits in less fits in more.

#include <algorithm>
#include <string>
#include <vector>

#include "study/plan/plan.hpp"
#include "study/run/assignments.hpp"
#include "support/catch.hpp"

namespace plan_memory_test {

using namespace pipeloom;
using study::Assignments;
using study::Plan;
using study::PlanOptions;
using study::Vary;

namespace {

/// A rank holds 100 bytes of a microbatch.
Assignments with_sizes(Assignments workload) {
  workload.insert({{"schedule", "\"1f1b\""},
                   {"costs.per", "\"rank\""},
                   {"memory.per", "\"rank\""},
                   {"memory.activation_bytes", "100"},
                   {"memory.static_bytes", "0"}});
  return workload;
}

/// F 2, I 1.5 and W 1, 1.2 times as much on every rank.
Assignments four_ranks() {
  return with_sizes({{"ranks", "4"},
                     {"microbatches", "9"},
                     {"costs.forward", "2"},
                     {"costs.backward_input", "1.5"},
                     {"costs.backward_weight", "1"},
                     {"costs.rank_scale", "[1.2, 1.2, 1.2, 1.2]"}});
}

/// The same where a forward with a backward takes 0.8 of both.
Assignments four_ranks_with_pairs() {
  Assignments workload = four_ranks();
  workload["costs.overlapped"] = R"({"factor": 0.8})";
  return workload;
}

/// Two slow ranks of six, hops of 0.2.
Assignments six_ranks() {
  return with_sizes({{"ranks", "6"},
                     {"microbatches", "13"},
                     {"costs.forward", "3"},
                     {"costs.backward_input", "2"},
                     {"costs.backward_weight", "1.5"},
                     {"costs.rank_scale", "[1, 1.1, 1, 1, 1, 1.3]"},
                     {"costs.transfer.latency", "0.2"}});
}

/// The best step under each limit.
std::vector<Ticks> steps_within(Assignments workload, const std::vector<int>& limits) {
  PlanOptions asked;
  asked.ends_by_clock = false;
  asked.seconds = 0.5;
  for (const Vary vary : {Vary::Schedule, Vary::Chunks, Vary::Placement, Vary::Order}) asked.vary.add(vary);
  std::vector<Ticks> out;
  for (const int limit : limits) {
    workload["memory.limit_bytes"] = std::to_string(limit);
    const Plan plan = study::make_plan(study::config_of(workload), asked, {});
    REQUIRE_FALSE(plan.candidates.empty());
    CHECK(plan.candidates.front().peak <= limit);
    Ticks least = kMaxTicks;
    for (const auto& candidate : plan.candidates) least = std::min(least, candidate.step_time);
    out.push_back(least);
  }
  return out;
}

}  // namespace

TEST_CASE("more memory never makes the best step longer") {
  const auto never_longer = [](const Assignments& workload, const std::vector<int>& limits) {
    const std::vector<Ticks> steps = steps_within(workload, limits);
    for (std::size_t i = 1; i < steps.size(); ++i) {
      INFO("limits " << limits[i - 1] << " and " << limits[i]);
      CHECK(steps[i] <= steps[i - 1]);
    }
  };
  never_longer(four_ranks_with_pairs(), {150, 165, 180, 195, 200, 210, 220, 405, 420, 435});
  never_longer(four_ranks(), {150, 165, 180});
  never_longer(six_ranks(), {220, 240, 260});
  // With 560 bytes another placement may win, too, and there is less time for each.
  never_longer(six_ranks(), {540, 550, 560});
}

}  // namespace plan_memory_test
