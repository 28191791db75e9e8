#include "sim/engine/entry_order.hpp"

#include <memory>

#include "sim/engine/simulator.hpp"

namespace pipeloom {

/// A counting sort, since there are fewer levels than ops.
std::vector<std::uint32_t> entries_by_level(const Schedule& schedule) {
  const Costs one_tick = uniform_costs(
      schedule.placement(), {.forward = 1, .backward = 1, .backward_input = 1, .backward_weight = 1});
  const Timeline levels =
      simulate(std::shared_ptr<const Schedule>(std::shared_ptr<void>(), &schedule), one_tick);
  std::vector<std::uint32_t> begin(static_cast<std::size_t>(span_of(levels).end) + 2, 0);
  const auto visit = [&](auto&& fn) {
    for_each_entry(schedule, 0, schedule.num_ops(), [&](std::size_t first, std::size_t) {
      fn(static_cast<std::size_t>(levels.start[first]), static_cast<std::uint32_t>(first));
    });
  };
  visit([&](std::size_t level, std::uint32_t) { ++begin[level + 1]; });
  for (std::size_t level = 1; level < begin.size(); ++level) begin[level] += begin[level - 1];
  std::vector<std::uint32_t> sorted(schedule.num_entries());
  visit([&](std::size_t level, std::uint32_t first) { sorted[begin[level]++] = first; });
  return sorted;
}

}  // namespace pipeloom
