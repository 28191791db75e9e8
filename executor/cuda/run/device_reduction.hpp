#pragma once

// The twin of executor/run/replica_reduction.hpp on devices: adds up the gradients of a stage's replicas, over the ranks that hold them.

#include <cuda_runtime_api.h>

#include "executor/cuda/exchange/device_exchange.hpp"
#include "executor/run/run_state.hpp"

namespace pipeloom::executor::cuda {

/// Queues on `stream` the work that makes the gradient of each of the rank's slots the sum over all replicas of its stage, in the order of
/// the replicas, so that every copy has the same bits. Does nothing where there is one replica, no backward or no weights.
///
/// REQUIRES: a state made with DeviceRanks; `stream` waits for all entries of the step, and no one reads the gradients before it
/// is done. Collective: every rank calls it after the same step. Returns false if the run was stopped.
[[nodiscard]] bool queue_replica_reduction(RunState& state, DeviceExchange& exchange, Rank rank,
                                           cudaStream_t stream);

}  // namespace pipeloom::executor::cuda
