#pragma once

// Plays an order at real times: a rank that would wait for the next pass of its order may run a later one, or a weight pass.

#include "schedules/v_replay.hpp"

namespace pipeloom::schedules {

/// What a rank does while it waits.
struct PlayRule {
  /// Weight passes stand in the order that is played; else they are left out of it and run while the rank waits or needs room.
  bool weights_in_order = false;
  /// How much of a weight pass, and of another pass, may stick out of the wait, in percent: what comes next is late by that. Less than 0:
  /// it does not run.
  int weight_late = 0;
  int other_late = 0;
  /// What comes next may be late as long as it starts by its latest start.
  bool uses_latest = false;
  /// The pass that is due first runs among those that can start, not the first in the order.
  bool by_latest = false;
};

/// The order in which the passes run under the rule: `guide` with passes moved forward, weight passes anew.
///
/// Memory is kept: a forward moves forward only if every forward of the guide that it passes still fits when all weight passes
/// before it have run, which they do as soon as room is needed. So the play never hangs.
///
/// REQUIRES: the guide does not hang, and fits with weights at once. Steps: one a pass, the passes that a forward passes, and the logarithm of p.
[[nodiscard]] PassOrders play(const VProblem& problem, const PassOrders& guide, int microbatches,
                              const PlayRule& rule, const LatestStarts* latest = nullptr);

}  // namespace pipeloom::schedules
