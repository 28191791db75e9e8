#include "study/explain/model.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include <pipeloom/error.hpp>
#include "sim/dependency.hpp"

namespace pipeloom::study::explain {
namespace {

/// Predicted parts of an entry: what each op takes alone, as shares.
void add_parts(Wiring& wiring, const Schedule& schedule, const Costs* costs, std::size_t first,
               std::size_t last) {
  double sum = 0;
  for (std::size_t i = first; i < last; ++i) {
    const double alone = costs != nullptr ? static_cast<double>(costs->op_duration(schedule, i)) : 1.0;
    wiring.parts.push_back({schedule.ops()[i], alone});
    sum += alone;
  }
  for (std::size_t i = wiring.part_begin.back(); i < wiring.parts.size(); ++i)
    wiring.parts[i].share = sum > 0 ? wiring.parts[i].share / sum : 1.0 / static_cast<double>(last - first);
  wiring.part_begin.push_back(static_cast<std::uint32_t>(wiring.parts.size()));
}

/// Entry of each op.
std::vector<std::uint32_t> number_entries(Wiring& wiring, const Schedule& schedule, const Costs* costs) {
  std::vector<std::uint32_t> entry_of(schedule.num_ops());
  wiring.part_begin.push_back(0);
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
    for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                   [&](std::size_t first, std::size_t last) {
                     for (std::size_t i = first; i < last; ++i)
                       entry_of[i] = static_cast<std::uint32_t>(wiring.entries());
                     wiring.rank.push_back(rank);
                     add_parts(wiring, schedule, costs, first, last);
                   });
  return entry_of;
}

std::uint32_t link_number(Wiring& wiring, Link link) {
  const auto found = std::find(wiring.links.begin(), wiring.links.end(), link);
  const auto number = static_cast<std::uint32_t>(found - wiring.links.begin());
  if (found == wiring.links.end()) wiring.links.push_back(link);
  return number;
}

/// Latencies of a prediction that has times alone: the smallest gap of each link, the rest stays a residual.
void take_smallest_gaps(Wiring& wiring, const Times& times) {
  std::vector<Ticks> smallest(wiring.links.size(), kMaxTicks);
  const auto for_each_message = [&](auto&& fn) {
    for (std::size_t e = 0; e < wiring.entries(); ++e)
      for (std::uint32_t i = wiring.message_begin[e]; i < wiring.message_begin[e + 1]; ++i)
        fn(e, wiring.messages[i]);
  };
  for_each_message([&](std::size_t e, const Message& message) {
    Ticks& least = smallest[message.link];
    least = std::min(least, times.start[e] - times.end[message.producer]);
  });
  for_each_message(
      [&](std::size_t, Message& message) { message.latency = std::max<Ticks>(0, smallest[message.link]); });
}

/// One visit of every entry of `world`: fn(entry, start).
template <class Fn>
void walk_world(const Wiring& wiring, const World& world, std::vector<Ticks>& ends, std::vector<Ticks>& lanes,
                Fn&& fn) {
  ends.resize(wiring.entries());
  lanes.resize(wiring.entries());
  const Order& order = *world.order;
  const Residuals& left = *world.residuals;
  const Ticks tau = world.rank_time;
  for (const std::uint32_t e : order.sequence) {
    const std::uint32_t previous = order.previous[e];
    Ticks start = (previous == Wiring::kNone ? 0 : lanes[previous]) + left.lane[e];
    for (std::uint32_t i = wiring.message_begin[e]; i < wiring.message_begin[e + 1]; ++i) {
      const Message& message = wiring.messages[i];
      start = std::max(start,
                       lanes[message.producer] + message.latency + world.added[message.link] + left.early[i]);
    }
    start += tau * wiring.receives[e] + left.late[e];
    ends[e] = start + world.duration[e];
    lanes[e] = ends[e] + tau * wiring.sends[e];
    fn(e, start);
  }
}

}  // namespace

Times entry_times(const Wiring& wiring, const Timeline& timeline) {
  Times times;
  for (std::size_t e = 0; e < wiring.entries(); ++e) {
    Ticks start = kMaxTicks;
    Ticks end = -kMaxTicks;
    for (std::uint32_t i = wiring.part_begin[e]; i < wiring.part_begin[e + 1]; ++i) {
      start = std::min(start, timeline.start_of(i));
      end = std::max(end, timeline.end_of(i));
    }
    times.start.push_back(start);
    times.end.push_back(end);
  }
  const Ticks first = times.start.empty() ? 0 : *std::min_element(times.start.begin(), times.start.end());
  for (Ticks& start : times.start) start -= first;
  for (Ticks& end : times.end) end -= first;
  return times;
}

Wiring wire(const Schedule& schedule, const Predicted& predicted) {
  if (schedule.has_copies())
    throw InputError(
        "its ops O and L run beside the queues, which cannot be explained; leave offloading out");
  if (schedule.shares_output())
    throw InputError("its ops S and T wait for all ranks at once, which cannot be explained");
  Wiring wiring;
  wiring.ranks = schedule.ranks();
  const Costs* costs = predicted.costs.get();
  const auto entry_of = number_entries(wiring, schedule, costs);
  const DependencyMap producers(schedule);
  wiring.sends.assign(wiring.entries(), 0);
  wiring.message_begin.push_back(0);
  for (std::size_t e = 0; e < wiring.entries(); ++e) {
    for (std::uint32_t i = wiring.part_begin[e]; i < wiring.part_begin[e + 1]; ++i) {
      const std::uint32_t producer = producers.producer_of(i);
      if (producer == DependencyMap::kNone) continue;
      const std::uint32_t from = entry_of[producer];
      if (wiring.rank[from] == wiring.rank[e]) continue;
      const Op op = schedule.ops()[i];
      const Ticks latency = costs != nullptr ? arrival_delay(*costs, op, schedule.slot_of(op)) : 0;
      wiring.messages.push_back({from, link_number(wiring, {wiring.rank[from], wiring.rank[e]}), latency});
      ++wiring.sends[from];
    }
    wiring.receives.push_back(
        static_cast<std::int32_t>(wiring.messages.size() - wiring.message_begin.back()));
    wiring.message_begin.push_back(static_cast<std::uint32_t>(wiring.messages.size()));
  }
  const Times times = entry_times(wiring, predicted.timeline);
  for (std::size_t e = 0; e < wiring.entries(); ++e)
    wiring.predicted.push_back(times.end[e] - times.start[e]);
  if (costs == nullptr) take_smallest_gaps(wiring, times);
  return wiring;
}

Order order_of(const Wiring& wiring) {
  std::vector<Ticks> place(wiring.entries());
  std::iota(place.begin(), place.end(), Ticks{0});
  return order_by(wiring, place);
}

Order order_by(const Wiring& wiring, std::span<const Ticks> start) {
  const std::size_t entries = wiring.entries();
  Order order;
  order.previous.assign(entries, Wiring::kNone);
  std::vector<std::vector<std::uint32_t>> behind(entries);
  std::vector<std::uint32_t> waits(entries, 0);
  const auto add_edge = [&](std::uint32_t before, std::uint32_t after) {
    behind[before].push_back(after);
    ++waits[after];
  };
  std::vector<std::uint32_t> sorted(entries);
  std::iota(sorted.begin(), sorted.end(), 0U);
  std::stable_sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) {
    return wiring.rank[a] != wiring.rank[b] ? wiring.rank[a] < wiring.rank[b] : start[a] < start[b];
  });
  for (std::size_t i = 1; i < entries; ++i) {
    if (wiring.rank[sorted[i - 1]] != wiring.rank[sorted[i]]) continue;
    order.previous[sorted[i]] = sorted[i - 1];
    add_edge(sorted[i - 1], sorted[i]);
  }
  for (std::uint32_t e = 0; e < entries; ++e)
    for (std::uint32_t i = wiring.message_begin[e]; i < wiring.message_begin[e + 1]; ++i)
      add_edge(wiring.messages[i].producer, e);
  for (std::uint32_t e = 0; e < entries; ++e)
    if (waits[e] == 0) order.sequence.push_back(e);
  for (std::size_t next = 0; next < order.sequence.size(); ++next)
    for (const std::uint32_t e : behind[order.sequence[next]])
      if (--waits[e] == 0) order.sequence.push_back(e);
  if (order.sequence.size() != entries)
    throw InputError(
        "its ops start in an order in which ranks would wait for each other for ever; check its times");
  return order;
}

Times run(const Wiring& wiring, const World& world) {
  Times times;
  std::vector<Ticks> lanes;
  times.start.resize(wiring.entries());
  walk_world(wiring, world, times.end, lanes, [&](std::uint32_t e, Ticks start) { times.start[e] = start; });
  return times;
}

Ticks step_time(const Wiring& wiring, const World& world, std::vector<Ticks>& ends,
                std::vector<Ticks>& lanes) {
  Ticks first = kMaxTicks;
  Ticks last = -kMaxTicks;
  walk_world(wiring, world, ends, lanes, [&](std::uint32_t e, Ticks start) {
    first = std::min(first, start);
    last = std::max(last, ends[e]);
  });
  return last - first;
}

Residuals residuals_of(const Wiring& wiring, const World& world, const Times& times) {
  Residuals left{.late = std::vector<Ticks>(wiring.entries()),
                 .lane = std::vector<Ticks>(wiring.entries()),
                 .early = std::vector<Ticks>(wiring.messages.size())};
  const Ticks tau = world.rank_time;
  for (std::size_t e = 0; e < wiring.entries(); ++e) {
    const std::uint32_t previous = world.order->previous[e];
    const Ticks target = times.start[e] - tau * wiring.receives[e];
    const Ticks lane = previous == Wiring::kNone ? 0 : times.end[previous] + tau * wiring.sends[previous];
    Ticks latest = lane;
    left.lane[e] = std::min<Ticks>(0, target - lane);
    for (std::uint32_t i = wiring.message_begin[e]; i < wiring.message_begin[e + 1]; ++i) {
      const Message& message = wiring.messages[i];
      const Ticks arrival = times.end[message.producer] + tau * wiring.sends[message.producer] +
                            message.latency + world.added[message.link];
      left.early[i] = std::min<Ticks>(0, target - arrival);
      latest = std::max(latest, arrival);
    }
    left.late[e] = std::max<Ticks>(0, target - latest);
  }
  return left;
}

Ticks length_of(const Times& times) {
  return *std::max_element(times.end.begin(), times.end.end()) -
         *std::min_element(times.start.begin(), times.start.end());
}

}  // namespace pipeloom::study::explain
