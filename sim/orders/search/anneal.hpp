#pragma once

// Annealing of an order along its critical chains.

#include "sim/orders/search/chain.hpp"

namespace pipeloom::orders {

/// Mean duration of an op.
[[nodiscard]] double mean_duration(const Problem& problem);
/// The energy that annealing makes small: the value, and a little of the mean lateness, for orders of one value.
[[nodiscard]] inline double energy_of(Ticks value, double mean) {
  return static_cast<double>(value) + 0.05 * mean;
}
/// True if a step that makes the energy worse by this much is taken. `hot`: the temperature to begin with, of which 1 % is left at the end.
[[nodiscard]] bool accepts(double worse, double hot, Chain& chain);

/// Moves ops within blocks (ops without a gap between them) of the chain that makes the order as long as it is. `heat`: the temperature to
/// begin with, in mean durations of an op. Gives the best order met. REQUIRES: the order keeps the limits and does not hang.
[[nodiscard]] Best anneal(const Problem& problem, const Order& from, double heat, Chain& chain);

}  // namespace pipeloom::orders
