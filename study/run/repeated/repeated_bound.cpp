#include "study/run/repeated/repeated_bound.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "sim/analysis/bounds.hpp"
#include "sim/analysis/entry_chains.hpp"
#include "sim/kinds.hpp"
#include "study/run/run_bound.hpp"

namespace pipeloom::study {
namespace {

/// The largest work of a rank.
Ticks most_work(const Metrics& metrics) {
  Ticks most = 0;
  for (const RankMetrics& rank : metrics.ranks) most = std::max(most, rank.busy);
  return most;
}

/// The numbers by which heads and tails of entries differ from those of the same entries one repetition earlier.
class Differences {
 public:
  /// False if they differ by others than before.
  bool add(const EntryChain& earlier, const EntryChain& later) {
    const Ticks head = later.head - earlier.head;
    const Ticks tail = earlier.tail - later.tail;
    if (!head_) head_ = head;
    if (!tail_) tail_ = tail;
    return *head_ == head && *tail_ == tail;
  }

 private:
  std::optional<Ticks> head_;
  std::optional<Ticks> tail_;
};

/// [op of the rank's queue]: the number of its entry among those that are not copies.
std::vector<std::size_t> entry_numbers(std::span<const Op> queue) {
  std::vector<std::size_t> out;
  std::size_t entry = 0;
  for (const Op op : queue) {
    out.push_back(entry);
    if (!op.joined() && !is_copy(op.kind())) ++entry;
  }
  return out;
}

/// True if chains before and after every entry repeat. All that an op after a cut waits for lies between the begin of the repeated part and the first cut, or as
/// far before a later one: chains of ops from there on follow from those of that stretch, and chains before it as well. So it is enough that a stretch
/// of that length, before the last cut, has the same chains as the one a repetition earlier, each but for one number. Copies have no chains of their own: they
/// are between two ops of their microbatch, so that three such stretches say theirs.
bool chains_repeat(const Run& run, const RepeatedCuts& cuts) {
  const Schedule& schedule = *run.schedule;
  const auto chains = entry_chains(schedule, *run.costs);
  Differences differences;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    const std::size_t stretch = (schedule.has_copies() ? 3 : 1) * cuts.queues.cut(rank, 0);
    const std::size_t end = cuts.queues.cut(rank, cuts.last);
    const std::size_t repetition = cuts.repetition_ops(rank);
    if (end < 2 * stretch + repetition) return false;
    const std::vector<std::size_t> entry = entry_numbers(schedule.queue(rank));
    const auto queue = schedule.queue(rank);
    for (std::size_t i = end - stretch; i < end; ++i)
      if (!is_copy(queue[i].kind()) &&
          !differences.add(chains[rank.at()][entry[i - repetition]], chains[rank.at()][entry[i]]))
        return false;
  }
  return true;
}

}  // namespace

bool take_bounds(const Run& shorter, const LongerRun& longer, const RepeatedCuts& cuts,
                 const std::function<bool()>& stopped, LowerBound& of_shorter, LowerBound& of_longer) {
  const Steps& steps = shorter.effective->step;
  const auto bound_of = [&](const Schedule& schedule, const Costs& costs, Ticks makespan) {
    return shorter.program ? lower_bound(schedule, costs, steps, makespan)
                           : run_bound(schedule, costs, *shorter.memory, steps, makespan, stopped);
  };
  of_shorter = bound_of(*shorter.schedule, *shorter.costs, shorter.metrics->makespan);
  of_longer = bound_of(*longer.schedule, longer.costs, longer.metrics->makespan);
  if (of_shorter.name != of_longer.name) return false;
  const Ticks growth = of_longer.value - of_shorter.value;
  const bool with_makespan = growth == longer.metrics->makespan - shorter.metrics->makespan;
  const bool is_tied = shorter.schedule->has_groups() || shorter.schedule->has_copies();
  if (is_tied) return with_makespan && chains_repeat(shorter, cuts);
  const bool with_work =
      shorter.memory->limit.empty() && growth == most_work(*longer.metrics) - most_work(*shorter.metrics);
  return with_makespan || with_work;
}

}  // namespace pipeloom::study
