#pragma once

// Times of an order of V passes, each of which runs as early as it can.

#include <optional>
#include <vector>

#include "schedules/v_passes.hpp"

namespace pipeloom::schedules {

struct Replayed {
  Ticks window = 0;  ///< largest over ranks of last end - first start
  Ticks makespan = 0;
  double period = 0;  ///< time between microbatches in the middle of rank 0's I's
  friend auto operator<=>(const Replayed&, const Replayed&) = default;
};
/// [(rank * 4 + pass) * m + microbatch], F f i I: when each must start at the latest so that no rank's window is longer than the longest
/// one is, if every rank runs its passes in the same order.
using LatestStarts = std::vector<Ticks>;

/// Nothing if the order hangs. `latest`, if given, receives the latest starts.
/// REQUIRES: every pass of `microbatches` is there once.
[[nodiscard]] std::optional<Replayed> replay(const VProblem& problem, const PassOrders& orders,
                                             int microbatches, LatestStarts* latest = nullptr);

}  // namespace pipeloom::schedules
