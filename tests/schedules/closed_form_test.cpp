// Closed forms against the simulator, over a grid of parameters and costs.

#include <fmt/format.h>

#include <map>

#include "schedules/flavours.hpp"
#include "schedules/generator.hpp"
#include "schedules/recorded.hpp"
#include "support/catch.hpp"

namespace pipeloom::schedules::closed_form_test {
namespace {

/// What the metric of this name is on this rank.
Ticks metric(const std::string& quantity, const Totals& totals, Rank rank) {
  if (quantity == "makespan") return totals.makespan;
  if (quantity == "idle") return totals.makespan - totals.busy[rank.at()];
  if (quantity == "peak_live") return totals.peak_live[rank.at()];
  REQUIRE(quantity == "max_window");
  Ticks longest = 0;
  for (std::size_t r = 0; r < totals.busy.size(); ++r)
    longest = std::max(longest, totals.last_end[r] - totals.first_start[r]);
  return longest;
}

/// F, B, I, W and pairs on both sides of every condition. Explicit durations are given for as many slots.
std::vector<UniformCosts> cost_grid(int slots) {
  std::vector<UniformCosts> grid;
  for (const Ticks f : {4, 7})
    for (const Ticks i : {3, 4, 9})
      for (const Ticks w : {0, 2, 4, 8}) {
        const Ticks b = i + w;
        UniformCosts costs{.forward = f, .backward = b, .backward_input = i, .backward_weight = w};
        grid.push_back(costs);
        costs.overlap = {.rule = OverlapRule::Saving, .duration = {}, .saving = 2};
        grid.push_back(costs);
        costs.overlap = {.rule = OverlapRule::Factor, .duration = {}, .factor = kUnitScale * 3 / 4};
        grid.push_back(costs);
        costs.overlap = {.rule = OverlapRule::Explicit,
                         .duration = std::vector<Ticks>(static_cast<std::size_t>(slots), std::max(f, b))};
        grid.push_back(costs);
      }
  grid.push_back({.forward = 5, .backward = 3, .backward_input = 2, .backward_weight = 2});
  grid.push_back({.forward = 1, .backward = 2, .overlap = {.rule = OverlapRule::Sequential, .duration = {}}});
  grid.push_back({.delay = 1});
  for (const Ticks delay : {1, 2, 5, 6})
    for (const Ticks b : {3, 7})
      grid.push_back(
          {.forward = 4, .backward = b, .backward_input = 4, .backward_weight = 4, .delay = delay});
  return grid;
}

/// Compares every closed form that speaks; counts by quantity.
void check(const Generator& generator, const Params& params, std::map<std::string, int>& checked) {
  Schedule schedule = make(generator, params);
  const bool follows_costs = generator.requirements.needs_terms && !generator.requirements.slow_search;
  for (const UniformCosts& costs : cost_grid(schedule.placement().slots())) {
    if (follows_costs) {
      Emission unused;
      schedule = make(generator, params, uniform_terms(schedule.placement(), costs), unused);
    }
    const Totals totals = recorded::evaluate(schedule, uniform_costs(schedule.placement(), costs));
    for (const ClosedForm& form : generator.closed_forms)
      for (Rank rank{0}; rank < Rank(params.ranks); ++rank) {
        const auto value = form.value(params, costs, rank);
        if (!value) continue;
        ++checked[form.quantity];
        if (*value == metric(form.quantity, totals, rank)) continue;
        FAIL_CHECK(fmt::format("{}: {} = {}: {} on rank {}, not {} (F = {}, B = {}, I = {}, W = {}, rule {})",
                               describe(generator, params), form.quantity, form.formula,
                               metric(form.quantity, totals, rank), rank.value(), *value, costs.forward,
                               costs.backward, costs.backward_input, costs.backward_weight,
                               static_cast<int>(costs.overlap.rule)));
      }
  }
}

/// The makespan under these costs, in ticks.
Ticks makespan(const std::string& name, const Params& params, const UniformCosts& costs) {
  const Schedule schedule = recorded::make_named(name, params);
  return recorded::evaluate(schedule, uniform_costs(schedule.placement(), costs)).makespan;
}

}  // namespace

TEST_CASE("closed forms equal the simulation wherever they speak") {
  for (const Generator& generator : all()) {
    std::map<std::string, int> checked;
    for (const int p : {1, 2, 3, 4, 6})
      for (const int m : {1, 2, 3, 4, 6, 7, 8, 11, 12, 13})
        for (const int v : {1, 2, 3})
          for (const Params& params :
               flavours(generator, {.ranks = p, .microbatches = m, .chunks = v}, {0, 2, 5}))
            if (refusal(generator, params).empty()) check(generator, params, checked);
    INFO(generator.name);
    CHECK_FALSE(generator.closed_forms.empty());
    for (const ClosedForm& form : generator.closed_forms) {
      INFO(form.quantity);
      CHECK(checked[form.quantity] >= 100);
    }
  }
}

TEST_CASE(
    "closed forms say nothing for forward-only runs, nor where transfers take time unless they name L") {
  for (const Generator& generator : all())
    for (const ClosedForm& form : generator.closed_forms) {
      Params params{.ranks = 4, .microbatches = 8, .chunks = generator.requirements.default_chunks};
      // Some speak where forwards take as long as backwards only, some where the pipeline never fills, or of one microbatch.
      const bool alike = form.condition.find("F = B") != std::string::npos;
      const UniformCosts costs = alike ? UniformCosts{.forward = 2, .backward = 2} : UniformCosts{};
      if (!form.value(params, costs, Rank(0))) params.microbatches = params.ranks;
      if (!form.value(params, costs, Rank(0))) params.microbatches = 1;
      INFO(generator.name << " " << form.quantity);
      CHECK(form.value(params, costs, Rank(0)).has_value());
      Params forward_only = params;
      forward_only.options.forward_only = true;
      CHECK_FALSE(form.value(forward_only, {}, Rank(0)).has_value());
      const bool names_latency = form.condition.find("transfers of L") != std::string::npos;
      const UniformCosts with_latency{
          .forward = 2, .backward = 4, .backward_input = 2, .backward_weight = 2, .delay = 1};
      CHECK(form.value(params, with_latency, Rank(0)).has_value() ==
            (names_latency || form.quantity == "peak_live"));
    }
}

TEST_CASE("published makespans: F = 1, B = 2, I = W = 1") {
  // In half units, so that a pair of 2.5 is a whole number.
  const auto pair = [](int slots, Ticks x) {
    return UniformCosts{.forward = 2,
                        .backward = 4,
                        .backward_input = 2,
                        .backward_weight = 2,
                        .overlap = {.rule = OverlapRule::Explicit,
                                    .duration = std::vector<Ticks>(static_cast<std::size_t>(slots), x)}};
  };
  const Params p4{.ranks = 4, .microbatches = 8};
  const Params p4v2{.ranks = 4, .microbatches = 8, .chunks = 2};
  CHECK(makespan("1f1b", p4, pair(4, 6)) == 2 * 33);          // (8 + 4 - 1)(1 + 2)
  CHECK(makespan("zb1p", p4, pair(4, 6)) == 2 * 27);          // 8 * 3 + 3 * (1 + 1 - 1)
  CHECK(makespan("interleave", p4v2, pair(8, 6)) == 2 * 57);  // (8 * 2 + 4 - 1)(1 + 2)
  CHECK(makespan("zb-h2", p4, pair(4, 6)) == 2 * 27);  // 8 * 3 + 3 * 1, of which no rank sees more than 24
  CHECK(makespan("zbv", p4v2, pair(8, 6)) == 2 * 51);  // 2 * 8 * 3 + 3 * 1
  CHECK(makespan("InterleavedZeroBubble", p4v2, pair(8, 6)) == 2 * 51);
  CHECK(makespan("looped-bfs", p4v2, pair(8, 6)) == 2 * 57);       // (8 + 8 + 4 - 1)(1 + 2)
  CHECK(makespan("gis", p4v2, pair(8, 6)) == 2 * 54);              // 16 * 3 + 3 * 2
  CHECK(makespan("gis-h", p4v2, pair(8, 6)) == 2 * 56);            // 54 + (4 - 2)(1 + 1 - 1)
  CHECK(makespan("1f1b_overlap", p4, pair(4, 5)) == 59);           // 4 * 3 + 7 * 2.5 = 29.5
  CHECK(makespan("interleave_overlap", p4v2, pair(8, 5)) == 103);  // 8 * 3 + (16 - 4 - 1) * 2.5 = 51.5
  const Params p8{.ranks = 8, .microbatches = 20};
  CHECK(makespan("dualpipe", p8, pair(16, 6)) == 2 * 66);  // 3 * 20 + 8 - 2
  CHECK(makespan("dualpipe", p8, pair(16, 5)) == 2 * 59);
  const Params p4m10{.ranks = 4, .microbatches = 10, .chunks = 2};
  CHECK(makespan("dualpipe_v", p4m10, pair(8, 6)) == 2 * 66);  // 6 * 10 + 2 * 3
  CHECK(makespan("dualpipe_v", p4m10, pair(8, 5)) == 2 * 59);
}

}  // namespace pipeloom::schedules::closed_form_test
