#pragma once

// Layers to stages, stages to ranks, what stages do to hold less, and the order, chosen together.
//
// An order alone cannot be shorter than the rank with most work; which rank that is and when its work can begin is a matter of the split and
// the placement, and under a memory limit of who recomputes. So all change in one search: a layer or a boundary moves, stages change ranks, are
// cut or joined, recompute or no longer do, the policy of the order changes; each design is judged by the order that its policy plays
// (sim/orders/search/policy.hpp), with its copies beside it where activations go to the host.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/orders/entries/copies.hpp"
#include "sim/orders/order.hpp"

namespace pipeloom::orders {

/// Which layers are on which stage, and which stages on which rank.
struct Design {
  std::vector<int>
      layers;  ///< [stage]; the first and the last may have none, where they have work all the same
  std::vector<std::size_t> rank;  ///< [stage]; every rank has a stage
  /// [stage]: which of DesignOptions::recomputations it uses to hold less, from 1; 0: none. Stages that use one use the same. Empty: none does.
  std::vector<std::uint8_t> recomputes = {};
  /// [stage]: 1 where what it holds goes to the host. Empty: nothing does.
  std::vector<std::uint8_t> copied = {};
  Copying copying = {};  ///< where its problem has copies

  friend bool operator==(const Design&, const Design&) = default;
};

/// The problem of a design; nothing where a limit leaves no room for it. Called from several threads at once.
using ProblemOf = std::function<std::optional<Problem>(const Design&)>;

struct DesignOptions {
  /// The parts of a design that may change.
  bool layers = true;  ///< which stage has how many
  bool ranks = true;   ///< which rank has which stage
  bool stages = true;  ///< how many there are, where layers and ranks may change
  std::size_t most_stages = 0;
  int least_at_ends = 0;            ///< layers that the first and the last stage need
  std::uint8_t recomputations = 0;  ///< ways in which stages can recompute, from 1 in Design::recomputes
  bool copies = false;              ///< whether what stages hold may go to the host
  /// Ops to be timed by one of four chains of the search, as SearchOptions::work.
  std::int64_t work = 20'000'000;
  /// A value that is known without the search, which ends early where it stays far above that.
  Ticks rival = kMaxTicks;
  std::uint64_t seed = 1;
  int threads = 1;
  /// Asked now and then with the best value so far; false ends the search with what it has. May be empty.
  std::function<bool(Ticks)> progress = {};
};

struct FoundDesign {
  Design design = {};
  Order order = {};
  Ticks value = kMaxTicks;  ///< of the order, with its copies and pairs
  bool fits =
      true;  ///< false: with its copies some rank is over its limit at some time, as in all that was found
};

/// The best design and order found from any of these, no worse than the best that a first policy gives for them. Nothing where none has room,
/// or there are none. Equal inputs give equal designs on any number of threads.
/// REQUIRES: starts of equal numbers of layers and ranks.
[[nodiscard]] std::optional<FoundDesign> search_design(const std::vector<Design>& starts,
                                                       const ProblemOf& problem_of,
                                                       const DesignOptions& options);

/// So many layers dealt out evenly, those left over to the middle, where no embedding or head is. REQUIRES: stages > 0, layers >= stages - 2.
[[nodiscard]] std::vector<int> even_layers(int layers, int stages);

}  // namespace pipeloom::orders
