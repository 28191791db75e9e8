#include "executor/cuda/kernels/kernels.hpp"

#include <algorithm>

#include "executor/cuda/device/cuda_error.hpp"
#include "executor/cuda/kernels/launch.hpp"
#include "executor/cuda/kernels/launch_instances.hpp"

namespace pipeloom::executor::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kMostBlocks = 65535;  // of a grid's second dimension

/// HostTeam's sums, by the lanes of a warp.
struct WarpTeam {
  template <class Fn>
  __device__ void each(std::size_t count, Fn fn) const {
    for (std::size_t j = threadIdx.x % kLanes; j < count; j += kLanes) fn(j);
  }
  template <class Fn>
  __device__ auto sum(std::size_t count, Fn fn) const {
    decltype(fn(std::size_t{0})) total = 0;
    for (std::size_t j = threadIdx.x % kLanes; j < count; j += kLanes) total += fn(j);
    for (unsigned apart = kLanes / 2; apart > 0; apart /= 2) total += __shfl_xor_sync(~0U, total, apart);
    return total;
  }
};

template <class Function>
__global__ void over_cells(Function function, std::size_t rows, std::size_t columns) {
  const std::size_t first = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (std::size_t row = blockIdx.y; row < rows; row += gridDim.y)
    for (std::size_t column = first; column < columns; column += std::size_t{gridDim.x} * blockDim.x)
      function(row, column);
}

template <class Function>
__global__ void over_rows(Function function, std::size_t rows) {
  const std::size_t first = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / kLanes;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x / kLanes;
  for (std::size_t row = first; row < rows; row += stride) function(WarpTeam(), row);
}

unsigned blocks_for(std::size_t count, std::size_t each) {
  return static_cast<unsigned>(std::min((count + each - 1) / each, kMostBlocks));
}

}  // namespace

template <class Function>
void launch_cells(const Function& function, std::size_t rows, std::size_t columns, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  const auto threads = static_cast<unsigned>(std::min<std::size_t>(kThreads, (columns + 31) / 32 * 32));
  const dim3 blocks(blocks_for(columns, threads), blocks_for(rows, 1));
  over_cells<<<blocks, threads, 0, stream>>>(function, rows, columns);
  check(cudaGetLastError(), "a kernel over cells");
}

template <class Function>
void launch_rows(const Function& function, std::size_t rows, cudaStream_t stream) {
  if (rows == 0) return;
  over_rows<<<blocks_for(rows, kThreads / kLanes), kThreads, 0, stream>>>(function, rows);
  check(cudaGetLastError(), "a kernel over rows");
}

}  // namespace pipeloom::executor::cuda
