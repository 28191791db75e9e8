#include "sim/engine/time_limits.hpp"

#include <algorithm>

#include <pipeloom/error.hpp>

namespace pipeloom {
namespace {

using Wide = TickSum::Wide;

Wide longest_of(const std::vector<Ticks>& table) {
  return table.empty() ? 0 : *std::max_element(table.begin(), table.end());
}

/// Longest time between two entries: a delay, and the lanes' time for the messages of each op.
Wide longest_delay(const Costs& costs) {
  return std::max(longest_of(costs.forward_delay), longest_of(costs.backward_delay)) +
         2 * Wide{costs.rank_time};
}

/// Longest time of a group's parts together, when alone they take `sum`.
Wide overlapped(const Costs& costs, Wide sum) {
  if (costs.overlap.rule == OverlapRule::Factor)
    sum = std::max(sum, sum * costs.overlap.factor / kUnitScale + 1);
  return std::max({sum, longest_of(costs.overlap.duration) + costs.entry,
                   longest_of(costs.overlap.pairs) + costs.entry, longest_of(costs.per_group)});
}

/// True if the parts of [first, last), and their time in a group, can be computed in 64 bits.
bool entry_fits(const Schedule& schedule, const Costs& costs, std::size_t first, std::size_t last) {
  Wide sum = 0;
  for (std::size_t i = first; i < last; ++i) sum += costs.op_duration(schedule, i);
  return (last - first == 1 ? sum : overlapped(costs, sum)) <= kMaxTicks;
}

}  // namespace

void refuse_times() {
  throw InputError(
      "the times of this run add up to more than 2^62 ticks (53 days, or 4.6e9 abstract units); use shorter "
      "durations, or "
      "fewer microbatches or steps");
}

TickSum easy_sum_of_times(const Schedule& schedule, const Costs& costs) {
  Wide longest = 0;
  for (const auto& table : costs.duration) longest = std::max(longest, longest_of(table));
  if (!costs.microbatch_scale.empty())
    longest = longest * std::max<Wide>(kUnitScale, longest_of(costs.microbatch_scale)) / kUnitScale + 1;
  longest = std::max(longest + costs.entry, longest_of(costs.per_op));
  // A group of k takes no more than k times overlapped() of the longest.
  const Wide each = overlapped(costs, longest) + longest_delay(costs);
  return TickSum::of(each * static_cast<Wide>(schedule.num_ops()));
}

TickSum sum_of_times(const Schedule& schedule, const Costs& costs) {
  TickSum sum;
  const Wide delay = longest_delay(costs);
  for_each_entry(schedule, 0, schedule.num_ops(), [&](std::size_t first, std::size_t last) {
    if (!entry_fits(schedule, costs, first, last)) refuse_times();
    sum += costs.entry_duration(schedule, first, last);
    sum += TickSum::of(delay * static_cast<Wide>(last - first));
  });
  return sum;
}

}  // namespace pipeloom
