#pragma once

// Orders of a V that begin with building blocks (sim/orders/blocks).
//
// Source: Qi et al., "Pipeline Parallelism with Controllable Memory" (2024, arXiv 2405.15362), the adaptive scheduler: blocks, repeated,
// with their ends reworked, the cheapest at real times. Here what blocks give is also followed (follower.hpp) under a few rules, which fill
// idle time that slots of one length do not show.

#include <string>
#include <vector>

#include "sim/orders/search/chain.hpp"

namespace pipeloom::orders {

struct BlockOrder {
  std::string name;  ///< "block f1 i2 I3, 3 slots a rank up to rank 5, then 1"
  Best best;
};

/// True if blocks lead to orders of the problem: it is a V without pairs.
[[nodiscard]] bool has_blocks(const Problem& problem);

/// The best orders that blocks lead to, a few, best first; tried with fewer microbatches where there are many. Nothing where the chain's work does
/// not suffice. REQUIRES: has_blocks(problem); some order keeps the limits.
[[nodiscard]] std::vector<BlockOrder> search_blocks(const Problem& problem, Chain& chain);

}  // namespace pipeloom::orders
