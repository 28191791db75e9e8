#pragma once

// The same schedule under other costs: a branch-free pass over entries in a fixed topological order.
//
// A FixedOrder is built once per schedule (from the cursor engine's proof that it does not hang) and evaluated
// many times: for planners, sweeps over cost axes and confidence bands. Records are sorted by dependency level,
// so that neighbouring records are independent and the processor overlaps them.

#include <cstdint>
#include <span>
#include <vector>

#include "sim/costs.hpp"
#include "sim/schedule.hpp"

namespace pipeloom {

class FixedOrder {
 public:
  /// Throws ScheduleError if the schedule hangs. Keeps no reference to it.
  explicit FixedOrder(const Schedule& schedule);

  [[nodiscard]] std::size_t num_records() const { return records_.size(); }
  [[nodiscard]] int ranks() const { return ranks_; }

  /// The costs of one scenario as the pass reads them: [class] pairs.
  /// REQUIRES: costs fit the schedule's placement and have no microbatch_scale and the overlap rule of a table
  /// (anything but Sequential may vary).
  class Scenario;

  /// Makespan of one scenario. `last_end`, if not empty, receives the last end per rank. `end` is scratch and result:
  /// end[position(entry)].
  [[nodiscard]] Ticks makespan(const Costs& costs, std::vector<Ticks>& scratch) const;

  /// Makespans of several scenarios at once, out[i] for costs[i]; exact, the same as one by one.
  void makespans(std::span<const Costs> costs, std::span<Ticks> out, std::vector<Ticks>& scratch) const;

 private:
  struct Record {
    std::uint32_t previous = 0;  // position of the previous entry of the rank
    std::uint32_t producer = 0;  // position of the tensor's producer
    std::uint32_t cost = 0;      // row of the cost table
  };
  int ranks_ = 0;
  std::vector<Record> records_;
};

}  // namespace pipeloom
