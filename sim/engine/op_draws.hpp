#pragma once

// Draws of one scenario for orders that no fixed order holds (sim/engine/fixed_order.hpp): every op by itself, in the order of op indices; a group
// whose duration is given as a whole as one, by the draw of its first op.

#include <cstdint>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/engine/entry_times.hpp"

namespace pipeloom {

class OpDraws {
 public:
  /// `costs` are bound to the schedule (sim/cost/bind.hpp); all three must outlive it.
  OpDraws(const Schedule& schedule, const Costs& costs, const Noise& noise);

  /// Throws InputError where a step may take more than kMaxTicks, and where pauses are too many.
  void require_fit(int count) const;

  /// Draws scenario `scenario` of `seed`.
  void draw(std::uint64_t seed, int scenario);
  /// The costs of the scenario that was drawn, but for the times that entry_times() adds.
  [[nodiscard]] const Costs& costs() const { return drawn_; }
  /// For the run of that scenario; refers to this. Empty where durations do not depend on starts.
  [[nodiscard]] EntryTimes entry_times();

 private:
  const Schedule& schedule_;
  const Noise& noise_;
  std::vector<double> factors_;
  std::vector<Ticks> op_;  // without noise, [op index]
  std::vector<Ticks>
      group_;  // of groups with a duration of their own, without noise, [first op index]; 0 elsewhere; empty: there are none
  std::vector<Ticks> drawn_group_;  // [first op index]
  std::vector<Ticks> pause_;        // the next one, [rank]; empty: there are none
  Costs drawn_;
};

}  // namespace pipeloom
