#pragma once

// A lower bound on every design of a model whose layers are alike, wherever its layers and stages are and whatever its order.

#include <cstddef>
#include <cstdint>

#include "sim/orders/designs/design.hpp"

namespace pipeloom::orders {

/// Times of the passes of a microbatch: of a layer, and of a stage without its layers.
struct LayerWork {
  Ticks layer = 0;  ///< 0: not known
  Ticks first = 0;  ///< the first stage
  Ticks last = 0;   ///< the last one
  Ticks other = 0;  ///< of the others the one that has least
};

/// As the stages of a design tell, and of the same with one layer moved, but for the rounding of their times.
[[nodiscard]] LayerWork layer_work(const Design& design, const ProblemOf& problem_of);

/// Where the first and the last stage are.
enum class Ends : std::uint8_t { OneRank, TwoRanks, Anywhere };

/// The layers and ends that are dealt to ranks.
struct Deal {
  int layers = 0;
  std::size_t ranks = 1;   ///< more than one, but for ends on one rank
  std::size_t stages = 1;  ///< on each rank, at least
  Ends ends = Ends::Anywhere;
};
/// The least work for a microbatch that the rank with most of it can have. REQUIRES: work.layer > 0.
[[nodiscard]] Ticks least_rank_work(const LayerWork& work, const Deal& deal);

/// The same for all designs with as many layers and ranks as this one; `stays`: with its stages where they are. 0 where the layer's work is not
/// known.
[[nodiscard]] Ticks least_rank_work(const Design& design, const ProblemOf& problem_of, bool stays);

}  // namespace pipeloom::orders
