#pragma once

// Annealing of an order along its critical chains.

#include "sim/orders/search/chain.hpp"

namespace pipeloom::orders {

/// Moves ops within blocks (ops without a gap between them) of the chain that makes the order as long as it is. `heat`: the temperature to
/// begin with, in mean durations of an op. Gives the best order met. REQUIRES: the order keeps the limits and does not hang.
[[nodiscard]] Best anneal(const Problem& problem, const Order& from, double heat, Chain& chain);

}  // namespace pipeloom::orders
