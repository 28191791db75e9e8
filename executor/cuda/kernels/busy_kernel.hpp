#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "executor/cuda/kernels/busy_elements.hpp"

namespace pipeloom::executor::cuda {

/// Queues one block that handles so many elements, and ends when `nanoseconds` have passed since it began.
void launch_busy(const BusyElements& elements, std::size_t count, std::uint64_t nanoseconds,
                 cudaStream_t stream);

}  // namespace pipeloom::executor::cuda
