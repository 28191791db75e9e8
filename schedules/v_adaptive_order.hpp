#pragma once

// The order of v-adaptive: orders::search_order on a V, from building blocks and published schedules.

#include <cstdint>
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
  /// The origin of the order: "block f1 i2 I3, 3 slots a rank up to rank 5, then 1", the name of a schedule, or the step of the search.
  std::string origin;
  /// The search ended after its first part, and the order is not proven the best.
  bool ended_early = false;
};
/// Some rank cannot hold what any order needs: [rank], in bytes of activations.
struct LeastLimit {
  std::vector<Bytes> bytes;
};
struct SearchCancelled {};

/// How much of the search is done: all of it, or the first of its two parts, which takes a tenth of the time.
enum class SearchPart : std::uint8_t { Whole, First };

/// Tells how much of the search is done, 0 .. 1; false cancels it.
using SearchProgress = std::function<bool(double)>;

/// The cheapest order found whose ranks never hold more than limit[rank] bytes of activations, entry by entry in queue order. Its cost is
/// never above that of v-min, v-half, v-zb, zbv and, with equal microbatches, zbv-auto where those keep the limit. Equal arguments give equal orders.
///
/// Both parts keep to that, and the whole is never above its first part. Where that proves its order the best they are the same.
///
/// Any limit from LeastLimit on is kept: both forwards of one microbatch, and what an I takes more than it frees
/// (MemoryModel::released_at_input below 0); with less there is no order.
///
/// REQUIRES: terms are for Placement::wave(ranks, 2), not sliced; 1 <= ranks, microbatches; limit.size() == ranks. `progress` may be
/// empty; it is called on this thread.
///
/// Steps: about 2000 timings of the order up to some thousand ops, then fewer.
[[nodiscard]] std::variant<VAdaptiveOrder, LeastLimit, SearchCancelled> v_adaptive_order(
    const Terms& terms, int ranks, int microbatches, std::span<const Bytes> limit,
    const SearchProgress& progress = {}, SearchPart part = SearchPart::Whole);

}  // namespace pipeloom::schedules
