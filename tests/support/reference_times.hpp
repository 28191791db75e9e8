#pragma once

// The rules of docs/model.md once more, as short as they can be written: what the engine is held against. Uses nothing of the
// engine or of the graph.

#include <optional>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>

namespace pipeloom::test {

struct ReferenceTimes {
  std::vector<Ticks> start;  // [op index]
  std::vector<Ticks> end;
  friend bool operator==(const ReferenceTimes&, const ReferenceTimes&) = default;
};

/// Longest paths by recursion over "previous entry of the rank" and "what the ops wait for". Nothing if the recursion meets
/// itself, that is, if the schedule hangs. `ready[r]`: when rank r may start; empty means 0.
[[nodiscard]] std::optional<ReferenceTimes> reference_times(const Schedule& schedule, const Costs& costs,
                                                            const std::vector<Ticks>& ready = {});

/// How long the entry of these op indices lasts under the costs' overlap rule.
[[nodiscard]] Ticks reference_duration(const Schedule& schedule, const Costs& costs, std::size_t first,
                                       std::size_t last);

}  // namespace pipeloom::test
