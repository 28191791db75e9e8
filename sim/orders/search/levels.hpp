#pragma once

// Policies for limits that hold no full warm-up: a stage takes F up to a level, a share of what its rank's limit holds, and towards the end of the
// pipeline no more than that number for each stage from there on; an F waits for an I that is about to come.
//
// Round trips say how many microbatches a stage would need to be busy all the time; where memory holds fewer, they keep the first stages full and starve
// those after it, at which levels are a tenth shorter.

#include <span>

#include "sim/orders/order.hpp"
#include "sim/orders/search/policy.hpp"
#include "sim/orders/search/random.hpp"

namespace pipeloom::orders {

/// Of the stages of one chunk.
struct Level {
  double share =
      1;  ///< of the microbatches of a stage that its rank's limit holds, if the rank held nothing else
  double slope = 1;  ///< microbatches for each stage from here on
};

struct Levels {
  Level first = {};    ///< of a rank's first chunk
  Level last = {};     ///< of its last one; chunks between lie between. A single chunk is the first
  int extra_cap = -1;  ///< no more than this above the level are taken; below 0: as many as memory holds
  RankPolicy rank = {};
};

/// True if some rank's limit does not hold a microbatch for each stage from one of its own on, as 1F1B's warm-up does.
[[nodiscard]] bool is_tight(const Problem& problem);

[[nodiscard]] Policy policy_of(const Problem& problem, const Levels& levels);

/// Good ones to begin with: for one chunk per rank, for models that end on the rank on which they begin, and for other placements.
[[nodiscard]] std::span<const Levels> first_levels(const Problem& problem);

[[nodiscard]] Levels random_levels(Random& random);

}  // namespace pipeloom::orders
