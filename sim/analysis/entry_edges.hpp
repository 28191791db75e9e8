#pragma once

// The entries that an entry waits for, found in its queue and by one look-up per op. The same edges as the dependency graph (sim/analysis/dag.hpp),
// without the graph: 4 bytes per op instead of 60 and more, and edges that are not asked for are never touched. An entry is named by the index of its
// first op.

#include <cstddef>
#include <limits>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/dependency.hpp"
#include "sim/kinds.hpp"

namespace pipeloom {

class EntryEdges {
 public:
  /// The entry that no entry is: the start of the step.
  static constexpr std::size_t kStart = std::numeric_limits<std::size_t>::max();

  /// Least time between the start of entry `from`, or of the step, and the start of the entry that waits.
  struct Edge {
    std::size_t from = kStart;
    Ticks lag = 0;
  };

  /// Both must outlive it. REQUIRES: as DependencyMap.
  EntryEdges(const Schedule& schedule, const Costs& costs)
      : schedule_(schedule), costs_(costs), dependencies_(schedule) {}

  [[nodiscard]] std::size_t first_of(std::size_t op) const {
    while (op > 0 && schedule_.ops()[op - 1].joined()) --op;
    return op;
  }
  /// Index one past the entry's last op.
  [[nodiscard]] std::size_t end_of(std::size_t first) const {
    while (schedule_.ops()[first].joined()) ++first;
    return first + 1;
  }
  [[nodiscard]] Ticks duration(std::size_t first) const {
    return costs_.entry_duration(schedule_, first, end_of(first));
  }
  [[nodiscard]] LaneTimes lane(std::size_t first) const {
    return lane_times(costs_, schedule_, first, end_of(first));
  }

  /// Calls fn(edge) for the tensors and reloads that the entry waits for, in the order of its ops.
  template <class Fn>
  void data_into(std::size_t first, Fn&& fn) const {
    const std::size_t end = end_of(first);
    const Ticks before = lane(first).before;
    for (std::size_t i = first; i < end; ++i) {
      const Op op = schedule_.ops()[i];
      dependencies_.each_producer(i, [&](std::uint32_t producer) {
        fn(edge_from(producer, arrival_delay(costs_, op, schedule_.slot_of(op)) + before));
      });
      const std::uint32_t reload = dependencies_.reload_of(i);
      if (reload != DependencyMap::kNone) fn(edge_from(reload, before));
    }
  }

  /// The same for the entries before it: the entry before it in its rank's queue, and before a copy the copy before it. Entries after
  /// a copy do not wait for it.
  template <class Fn>
  void queue_into(std::size_t first, Fn&& fn) const {
    const std::size_t begin = schedule_.queue_begin(schedule_.home_of(schedule_.ops()[first]));
    const std::size_t previous = latest_before(first, begin, false);
    const LaneTimes own = lane(first);
    fn(edge_from_entry(previous, previous == kStart ? own.before : lane(previous).after + own.before));
    if (!is_copy(schedule_.ops()[first].kind())) return;
    const std::size_t copy = latest_before(first, begin, true);
    if (copy != kStart) fn(edge_from_entry(copy, 0));
  }

  /// The same for the end of the step: the last entries of all ranks' queues, rank by rank.
  template <class Fn>
  void into_end(Fn&& fn) const {
    for (Rank rank{0}; rank < Rank(schedule_.ranks()); ++rank)
      for (const bool copy : {false, true}) {
        const std::size_t last = latest_before(schedule_.queue_end(rank), schedule_.queue_begin(rank), copy);
        if (last != kStart) fn(edge_from_entry(last, 0));
      }
  }

 private:
  /// The last entry of [begin, end) that is a copy, or is none.
  [[nodiscard]] std::size_t latest_before(std::size_t end, std::size_t begin, bool copy) const {
    if (copy && !schedule_.has_copies()) return kStart;
    for (std::size_t i = end; i > begin; --i)
      if (is_copy(schedule_.ops()[i - 1].kind()) == copy) return first_of(i - 1);
    return kStart;
  }

  [[nodiscard]] Edge edge_from_entry(std::size_t from, Ticks between) const {
    return from == kStart ? Edge{kStart, between} : Edge{from, duration(from) + between};
  }

  /// From the start of the producer's entry to the moment its result is there.
  [[nodiscard]] Edge edge_from(std::size_t producer, Ticks delay) const {
    const std::size_t from = first_of(producer);
    const Ticks after = lane(from).after;
    if (costs_.overlap.rule != OverlapRule::Sequential || after != 0)
      return {from, duration(from) + after + delay};
    Ticks visible = 0;
    for (std::size_t i = from; i <= producer; ++i) visible += costs_.turn_duration(schedule_, from, i);
    return {from, visible + delay};
  }

  const Schedule& schedule_;
  const Costs& costs_;
  DependencyMap dependencies_;
};

}  // namespace pipeloom
