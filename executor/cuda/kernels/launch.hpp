#pragma once

// Queues the kernels around the functions of kernels.hpp. Instances are in kernels.cu, which nvcc compiles: a function that is not
// listed there does not link.

#include <cuda_runtime_api.h>

#include <cstddef>

#include "executor/cuda/kernels/kernels.hpp"

namespace pipeloom::executor::cuda {

/// function(row, column) for every cell. Throws CudaError if the kernel cannot be queued.
template <class Function>
void launch_cells(const Function& function, std::size_t rows, std::size_t columns, cudaStream_t stream);

/// function(team, row) for every row, a warp each.
template <class Function>
void launch_rows(const Function& function, std::size_t rows, cudaStream_t stream);

}  // namespace pipeloom::executor::cuda
