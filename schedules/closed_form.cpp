#include "schedules/closed_form.hpp"

#include <algorithm>
#include <utility>

namespace pipeloom::schedules {
namespace {

/// The duration of (0F1;0B0) on a pipeline of one stage: asks the rules of sim/costs instead of repeating
/// them.
Ticks pair_on_one_stage(const UniformCosts& costs) {
  const Placement placement = Placement::linear(1);
  ScheduleBuilder out(placement, 2);
  out.begin_rank(Rank(0)).add_pair(forward(Stage(0), Microbatch(1)), backward(Stage(0), Microbatch(0)));
  const Schedule pair = std::move(out).build();
  return uniform_costs(placement, costs).entry_duration(pair, 0, 2);
}

}  // namespace

ClosedForm order_form(std::string quantity, std::string formula, std::string condition,
                      std::function<Value(const Params&, Rank)> fn) {
  return {std::move(quantity), std::move(formula), std::move(condition),
          [fn = std::move(fn)](const Params& params, const UniformCosts&, Rank rank) -> Value {
            if (params.options.forward_only) return std::nullopt;
            return fn(params, rank);
          }};
}

ClosedForm latency_form(std::string quantity, std::string formula, std::string condition,
                        std::function<Value(const Params&, const UniformCosts&, Rank)> fn) {
  return {std::move(quantity), std::move(formula), std::move(condition),
          [fn = std::move(fn)](const Params& params, const UniformCosts& costs, Rank rank) -> Value {
            if (params.options.forward_only) return std::nullopt;
            return fn(params, costs, rank);
          }};
}

ClosedForm time_form(std::string quantity, std::string formula, std::string condition,
                     std::function<Value(const Params&, const UniformCosts&, Rank)> fn) {
  return latency_form(
      std::move(quantity), std::move(formula), std::move(condition),
      [fn = std::move(fn)](const Params& params, const UniformCosts& costs, Rank rank) -> Value {
        if (costs.delay != 0) return std::nullopt;
        return fn(params, costs, rank);
      });
}

std::optional<Ticks> pair_duration(const UniformCosts& costs) {
  const Overlap& overlap = costs.overlap;
  if (overlap.rule == OverlapRule::Sequential) return std::nullopt;
  if (overlap.rule == OverlapRule::Explicit) {
    const auto& given = overlap.duration;
    const bool one_number = !given.empty() && std::equal(given.begin() + 1, given.end(), given.begin());
    if (!one_number || given.front() < std::max(costs.forward, costs.backward)) return std::nullopt;
  }
  return pair_on_one_stage(costs);
}

}  // namespace pipeloom::schedules
