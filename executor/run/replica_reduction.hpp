#pragma once

// Gradients of a model that is there twice (DualPipe, Chimera): after the last entry of a step the ranks that hold a stage's replicas
// exchange the gradients that they have added up.

#include <vector>

#include "executor/run/run_state.hpp"

namespace pipeloom::executor {

/// The ranks with which reduce_replicas() exchanges gradients, each perhaps more than once.
[[nodiscard]] std::vector<Rank> ranks_with_replicas_of(const Schedule& schedule, Rank rank);

/// Makes the gradient of each of this rank's slots the sum over all replicas of its stage. All sums are made in the order of the
/// replicas, so that every copy has the same bits. Does nothing where there is one replica, no backward or no weights.
/// Collective: every rank calls it after the same step. Returns false if the run was stopped.
[[nodiscard]] bool reduce_replicas(RunState& state, Rank rank);

}  // namespace pipeloom::executor
