#pragma once

// One step of a schedule under planted conditions: a small simulator that owes nothing to the engine's.

#include <cmath>
#include <cstddef>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>

namespace pipeloom::test {

using Random = std::mt19937_64;

[[nodiscard]] double uniform(Random& random, double low, double high);
[[nodiscard]] std::size_t pick(Random& random, std::size_t count);
/// Box and Muller's: the standard's own distribution differs from library to library.
[[nodiscard]] double gauss(Random& random);

/// A schedule as the generator sees it: entries and what their ops wait for.
struct Net {
  const Schedule* schedule = nullptr;
  std::vector<std::pair<std::size_t, std::size_t>> entries;  // op indices
  std::vector<std::vector<std::size_t>> queues;              // [rank] entries
  std::vector<std::size_t> entry_of;                         // [op]
  std::vector<std::optional<std::size_t>> producer;          // [op], an op
  std::vector<Ticks> latency;                                // [op]
  std::vector<int> sends;                                    // [entry]
  std::vector<int> receives;
  std::vector<int> cell;  // [entry]

  [[nodiscard]] Rank rank_of(std::size_t op) const { return schedule->rank_of_op(op); }
};

[[nodiscard]] Net net_of(const Schedule& schedule, const Costs& costs);

/// What one step is made of.
struct Conditions {
  std::vector<double> factor;  // [op]
  std::vector<Ticks> paused;   // [entry] later
  std::vector<Ticks> longer;   // [entry]
  std::vector<Ticks> latency;  // [op]
  std::vector<std::vector<std::size_t>> queues;
  Ticks rank_time = 0;
  std::vector<Ticks> launch = {};  // [entry] before it, if the rank is free only if `launch_hides`
  bool launch_hides = false;
};

struct Step {
  std::vector<Ticks> start;  // [op]
  std::vector<Ticks> end;
  Ticks length = 0;
};

/// Nothing if it hangs.
[[nodiscard]] std::optional<Step> play(const Net& net, const Costs& costs, const Conditions& with);

}  // namespace pipeloom::test
