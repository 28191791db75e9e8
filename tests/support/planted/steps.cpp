#include "support/planted/steps.hpp"

#include <algorithm>

#include "sim/dependency.hpp"
#include "sim/engine/simulator.hpp"

namespace pipeloom::test {

double uniform(Random& random, double low, double high) {
  return low + (high - low) * (static_cast<double>(random() >> 11U) * 0x1p-53);
}

std::size_t pick(Random& random, std::size_t count) {
  return static_cast<std::size_t>(random() % count);
}

double gauss(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(random, 0, 1)));
  return radius * std::cos(2 * 3.14159265358979323846 * uniform(random, 0, 1));
}

Net net_of(const Schedule& schedule, const Costs& costs) {
  Net net;
  net.schedule = &schedule;
  net.entry_of.resize(schedule.num_ops());
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    auto& queue = net.queues.emplace_back();
    for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     for (std::size_t i = first; i < last; ++i) net.entry_of[i] = net.entries.size();
                     queue.push_back(net.entries.size());
                     net.entries.emplace_back(first, last);
                   });
  }
  net.sends.assign(net.entries.size(), 0);
  net.receives.assign(net.entries.size(), 0);
  const DependencyMap producers(schedule);
  for (std::size_t i = 0; i < schedule.num_ops(); ++i) {
    const std::uint32_t from = producers.producer_of(i);
    const Op op = schedule.ops()[i];
    net.latency.push_back(arrival_delay(costs, op.kind(), schedule.slot_of(op)));
    net.producer.push_back(from == DependencyMap::kNone ? std::nullopt : std::optional<std::size_t>(from));
    if (from == DependencyMap::kNone || net.rank_of(from) == net.rank_of(i)) continue;
    ++net.sends[net.entry_of[from]];
    ++net.receives[net.entry_of[i]];
  }
  return net;
}

std::optional<Step> play(const Net& net, const Costs& costs, const Conditions& with) {
  const Schedule& schedule = *net.schedule;
  Step step{std::vector<Ticks>(schedule.num_ops(), 0), std::vector<Ticks>(schedule.num_ops(), -1)};
  std::vector<Ticks> lane(net.entries.size(), 0);
  std::vector<std::size_t> at(net.queues.size(), 0);
  std::vector<Ticks> free(net.queues.size(), 0);
  std::size_t done = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < net.queues.size(); ++r)
      while (at[r] < with.queues[r].size()) {
        const std::size_t e = with.queues[r][at[r]];
        const auto [first, last] = net.entries[e];
        const Ticks launch = with.launch.empty() ? 0 : with.launch[e];
        Ticks ready = free[r] + (with.launch_hides ? launch : 0);
        bool waits = false;
        double duration = 0;
        for (std::size_t i = first; i < last; ++i) {
          duration += static_cast<double>(costs.op_duration(schedule, i)) * with.factor[i];
          if (!net.producer[i]) continue;
          const std::size_t from = *net.producer[i];
          waits = waits || step.end[from] < 0;
          if (net.rank_of(from) != net.rank_of(i))
            ready = std::max(ready, lane[net.entry_of[from]] + with.latency[i]);
        }
        if (waits) break;
        const Ticks start =
            ready + (with.launch_hides ? 0 : launch) + with.rank_time * net.receives[e] + with.paused[e];
        const Ticks end = start + std::llround(duration) + with.longer[e];
        for (std::size_t i = first; i < last; ++i) {
          step.start[i] = start;
          step.end[i] = end;
        }
        lane[e] = free[r] = end + with.rank_time * net.sends[e];
        ++at[r];
        ++done;
        moved = true;
      }
  }
  if (done != net.entries.size()) return std::nullopt;
  step.length = *std::max_element(step.end.begin(), step.end.end()) -
                *std::min_element(step.start.begin(), step.start.end());
  return step;
}

}  // namespace pipeloom::test
