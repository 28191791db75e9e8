#pragma once

// The search behind v-adaptive: the cheapest order that it finds for two chunks per rank on a V, split backward and a limit of memory.
//
// Source: Qi et al., "Pipeline Parallelism with Controllable Memory" (2024, arXiv 2405.15362) and the adaptive scheduler of its
// authors' program: go through building blocks, repeat them, rework their ends, keep the cheapest at real times. Here every block's
// order is also played at real times (v_player.hpp), which fills idle time that slots of one length do not show.

#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>

namespace pipeloom::schedules {

struct VAdaptiveOrder {
  Schedule schedule;
  /// Largest over ranks of last end - first start, every op as early as possible.
  Ticks cost = 0;
  /// What the order was made of: "block f1 i2 I3, 3 slots a rank up to rank 5, then 1", or the name of a schedule.
  std::string origin;
};
/// Some rank cannot hold what any order needs: [rank], in bytes of activations.
struct LeastLimit {
  std::vector<Bytes> bytes;
};
struct SearchCancelled {};

/// Tells how much of the search is done, 0 .. 1; false cancels it.
using SearchProgress = std::function<bool(double)>;

/// The cheapest order found whose ranks never hold more than limit[rank] bytes of activations, entry by entry in queue order. Its cost is
/// never above that of v-min, v-half, v-zb and zbv where those keep the limit. Equal arguments give equal orders.
///
/// Any limit from LeastLimit on is kept: both forwards of one microbatch; with less there is no order. Where I keeps more than it
/// frees (MemoryModel::released_at_input below 0), the difference counts from F on.
///
/// REQUIRES: terms are for Placement::wave(ranks, 2), not sliced; 1 <= ranks, microbatches; limit.size() == ranks. `progress` may be
/// empty; it is called on this thread.
///
/// Steps: O(p) blocks of at most min(m, 3 p + 4) microbatches, and a few orders of m.
[[nodiscard]] std::variant<VAdaptiveOrder, LeastLimit, SearchCancelled> v_adaptive_order(
    const Terms& terms, int ranks, int microbatches, std::span<const Bytes> limit,
    const SearchProgress& progress = {});

}  // namespace pipeloom::schedules
