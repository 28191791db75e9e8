// What every registered schedule owes, over a grid of parameters.

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>
#include "schedules/flavours.hpp"
#include "schedules/generator.hpp"
#include "schedules/recorded.hpp"
#include "sim/analysis/bounds.hpp"
#include "sim/kinds.hpp"
#include "sim/tensor_index.hpp"
#include "support/catch.hpp"

namespace pipeloom::schedules::contract_test {
namespace {

/// Calls fn for every legal point of the grid; returns how many there are.
int for_each_legal(const Generator& generator, const std::function<void(const Params&)>& fn) {
  const Requirements& needs = generator.requirements;
  int legal = 0;
  for (const int p : {1, 2, 3, 4, 5, 8})
    for (const int m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 20})
      for (int v = needs.min_chunks; v <= std::min(needs.max_chunks, 3); ++v)
        for (const Params& params :
             flavours(generator, {.ranks = p, .microbatches = m, .chunks = v}, {0, 1, 2, 3, 5, 9})) {
          if (!refusal(generator, params).empty() || is_slow(generator, params)) continue;
          INFO(describe(generator, params));
          fn(params);
          ++legal;
        }
  return legal;
}

/// F once, and either B once or I and W once, for every stage and slice of a microbatch.
bool each_exactly_once(const Schedule& schedule) {
  std::map<std::pair<Stage, std::size_t>, std::map<char, int>> found;
  for (const Op op : schedule.ops()) ++found[{op.stage(), schedule.unit_of(op)}][letter_of(op.kind())];
  const std::map<char, int> whole = {{'F', 1}, {'B', 1}};
  const std::map<char, int> split = {{'F', 1}, {'I', 1}, {'W', 1}};
  const std::map<char, int> with_output = {{'F', 1}, {'B', 1}, {'S', 1}, {'T', 1}};
  for (const auto& [where, kinds] : found)
    if (kinds != whole && kinds != split && kinds != with_output) return false;
  return found.size() ==
         static_cast<std::size_t>(schedule.stages()) * static_cast<std::size_t>(schedule.units());
}

std::string text_of(const Schedule& schedule) {
  std::string text = queue_text(schedule, Rank(0));
  for (Rank rank{1}; rank < Rank(schedule.ranks()); ++rank) text += " | " + queue_text(schedule, rank);
  return text;
}

}  // namespace

TEST_CASE("every schedule: each op exactly once, in an order that runs") {
  for (const Generator& generator : all()) {
    const int legal = for_each_legal(generator, [&](const Params& params) {
      const Schedule schedule = make(generator, params);
      CHECK(schedule.ranks() == params.ranks);
      CHECK(schedule.placement() == generator.placement(params));
      CHECK(schedule.stages() == params.ranks * params.chunks);
      CHECK(schedule.microbatches() == params.microbatches * params.updates());
      CHECK(schedule.slices() == params.slices());
      CHECK(each_exactly_once(schedule));
      CHECK(validate(schedule).empty());
      CHECK(static_cast<std::int64_t>(schedule.num_ops()) <= max_ops(generator, params));
    });
    INFO(generator.name);
    CHECK(legal >= 12);
  }
}

TEST_CASE("every schedule: legal and running, or refused by name, for all p to 8, m to 24, v to 4") {
  for (const Generator& generator : all()) {
    int refused = 0;
    int made = 0;
    for (int p = 1; p <= 8; ++p)
      for (int m = 1; m <= 24; ++m)
        for (int v = 1; v <= 4; ++v)
          for (const Params& params :
               flavours(generator, {.ranks = p, .microbatches = m, .chunks = v}, {0, 3})) {
            INFO(describe(generator, params));
            const std::string reason = refusal(generator, params);
            if (reason.empty() && is_slow(generator, params)) continue;
            if (reason.empty()) {
              const Schedule schedule = make(generator, params);
              REQUIRE(static_cast<std::int64_t>(schedule.num_ops()) <= max_ops(generator, params));
              REQUIRE(validate(schedule).empty());
              ++made;
            } else {
              REQUIRE_THAT(reason, Catch::StartsWith(generator.name + " "));
              ++refused;
            }
          }
    INFO(generator.name);
    CHECK(made >= 36);  // dualpipe: even p and m, m >= 2p - 2, p = 2, 4, 6, 8
    if (!generator.requirements.slow_search) CHECK(made + refused >= 8 * 24 * 4);
  }
}

TEST_CASE("every schedule: what it says it emits is what it emits") {
  for (const Generator& generator : all()) {
    const Requirements& needs = generator.requirements;
    const Schedule schedule = make(generator, {.chunks = needs.default_chunks});
    INFO(generator.name);
    CHECK(schedule.contains(OpKind::BackwardWeight) == needs.splits_backward);
    CHECK(schedule.has_groups() == needs.overlaps);
    CHECK((schedule.placement().replicas() == 2) == needs.bidirectional);
    CHECK(schedule.contains(OpKind::Output) == needs.shares_output);
    CHECK(schedule.contains(OpKind::OutputWeight) == needs.shares_output);
    // With the input's gradient made, the last stage's backward waits for S alone.
    CHECK((turning_kind(schedule) == OpKind::Output) == needs.output_makes_gradient);
    CHECK_FALSE(needs.text.empty());
    CHECK_FALSE(generator.summary.empty());
    CHECK_FALSE(generator.source.empty());
    CHECK_FALSE(generator.when_to_use.empty());
    CHECK(bool(generator.predicate) == bool(generator.accepts));
  }
}

TEST_CASE("every schedule: makespan is no shorter than the lower bound, peaks are as declared") {
  for (const Generator& generator : all())
    for_each_legal(generator, [&](const Params& params) {
      const Schedule schedule = make(generator, params);
      const UniformCosts uniform = {
          .forward = 3, .backward = 7, .backward_input = 4, .backward_weight = 3, .delay = 1};
      const Costs costs = uniform_costs(schedule.placement(), uniform);
      const Totals totals = recorded::evaluate(schedule, costs);
      CHECK(totals.makespan >= lower_bound(schedule, costs, {}).value);
      for (const ClosedForm& form : generator.closed_forms) {
        if (form.quantity != "peak_live") continue;
        for (Rank rank{0}; rank < Rank(params.ranks); ++rank) {
          const auto declared = form.value(params, uniform, rank);
          if (declared) CHECK(totals.peak_live[rank.at()] == *declared);
        }
      }
    });
}

TEST_CASE("every schedule: two runs are identical and survive the text form") {
  for (const Generator& generator : all())
    for_each_legal(generator, [&](const Params& params) {
      const Schedule schedule = make(generator, params);
      CHECK(schedule == make(generator, params));
      CHECK(schedule == parse_schedule(text_of(schedule)));
    });
}

TEST_CASE("every schedule: forward_only keeps the forwards in their order and nothing else") {
  for (const Generator& generator : all())
    for_each_legal(generator, [&](Params params) {
      const Schedule whole = make(generator, params);
      params.options.forward_only = true;
      const Schedule forwards = make(generator, params);
      CHECK(forwards.is_forward_only());
      CHECK(validate(forwards).empty());
      std::vector<Op> expected;
      for (const Op op : whole.ops())
        if (op.kind() == OpKind::Forward) expected.push_back(op);
      CHECK(std::equal(expected.begin(), expected.end(), forwards.ops().begin(), forwards.ops().end()));
    });
}

}  // namespace pipeloom::schedules::contract_test
