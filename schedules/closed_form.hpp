#pragma once

// Makers of closed forms: the common parts of their conditions are stated and checked here once.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "schedules/generator.hpp"

namespace pipeloom::schedules {

using Value = std::optional<std::int64_t>;

/// A quantity that follows from the order alone: fn(params, rank). Nothing for forward-only runs.
[[nodiscard]] ClosedForm order_form(std::string quantity, std::string formula, std::string condition,
                                    std::function<Value(const Params&, Rank)> fn);

/// A duration: fn(params, costs, rank). Nothing for forward-only runs and where transfers take time; equal
/// stages are what UniformCosts says.
[[nodiscard]] ClosedForm time_form(std::string quantity, std::string formula, std::string condition,
                                   std::function<Value(const Params&, const UniformCosts&, Rank)> fn);

/// A duration where transfers may take time: fn finds the latency L in costs.delay. Nothing for forward-only runs.
[[nodiscard]] ClosedForm latency_form(std::string quantity, std::string formula, std::string condition,
                                      std::function<Value(const Params&, const UniformCosts&, Rank)> fn);

/// X: the duration of an overlapped forward and full backward, X >= max(F, B). Nothing where it is not one
/// number: the `sequential` rule, explicit durations that differ by stage or lie below max(F, B).
[[nodiscard]] std::optional<Ticks> pair_duration(const UniformCosts& costs);

/// True if F, I and W take the same time.
[[nodiscard]] inline bool equal_passes(const UniformCosts& costs) {
  return costs.forward == costs.backward_input && costs.forward == costs.backward_weight;
}

}  // namespace pipeloom::schedules
