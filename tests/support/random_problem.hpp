#pragma once

// Random schedules and costs from a seed: the same seed gives the same problem on every compiler.
//
// A schedule is made by running it: again and again a random rank runs a random op that could run now. So every order is
// legal, none is sensible, and all of them are reachable.

#include <cstdint>
#include <memory>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>

namespace pipeloom::test {

/// splitmix64. The standard library's distributions differ between implementations, so ranges are drawn by hand.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  [[nodiscard]] std::uint64_t bits();
  /// 0 .. below - 1. REQUIRES: below > 0.
  [[nodiscard]] int below(int below);
  /// low .. high, both included.
  [[nodiscard]] std::int64_t between(std::int64_t low, std::int64_t high);
  /// True in `percent` of 100 draws.
  [[nodiscard]] bool chance(int percent) { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

struct ProblemSize {
  int most_ranks = 5;
  int most_chunks = 3;
  int most_microbatches = 6;
  /// Percent of entries that take a second op along, where one can run.
  int group_percent = 30;
};

struct RandomProblem {
  std::shared_ptr<const Schedule> schedule;
  Costs costs;
};

/// Linear, loop, wave, bidirectional or any map, with up to most_ranks ranks.
[[nodiscard]] Placement random_placement(Random& random, const ProblemSize& size);

/// A legal schedule: validate() finds nothing. Each (stage, microbatch) goes backward in one op or in two, by chance.
[[nodiscard]] Schedule random_schedule(Random& random, Placement placement, int microbatches,
                                       int group_percent = 30);

/// The same order with recomputations, copies to the host and back, and whole sequences cut into slices, each by chance; legal.
[[nodiscard]] Schedule random_extras(Random& random, const Schedule& schedule);

/// Durations (some zero), delays on hops between ranks, often microbatch scales, any overlap rule.
[[nodiscard]] Costs random_costs(Random& random, const Schedule& schedule);

/// Adds what entries, pairs and messages take besides, each by chance: Costs::entry, rank_time, Overlap::pairs.
void add_besides(Random& random, const Schedule& schedule, Costs& costs);

/// Sizes of everything, no limit.
[[nodiscard]] MemoryModel random_memory(Random& random, const Placement& placement);

[[nodiscard]] RandomProblem random_problem(std::uint64_t seed, const ProblemSize& size = {});

/// The same ops with some pairs of a rank's ops swapped: all ops are still on their ranks once, but the queues may wait for
/// each other in a cycle.
[[nodiscard]] Schedule with_swapped_ops(Random& random, const Schedule& schedule, int swaps);

/// The microbatch -> replica map as ScheduleBuilder wants it.
[[nodiscard]] std::vector<std::uint8_t> replicas_of(const Schedule& schedule);

/// The same schedule with other queues. REQUIRES: queues hold whole entries (joined flags as in a Schedule).
[[nodiscard]] Schedule with_queues(const Schedule& schedule, const std::vector<std::vector<Op>>& queues);

}  // namespace pipeloom::test
