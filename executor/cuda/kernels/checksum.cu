#include "executor/cuda/kernels/checksum.hpp"

#include <cuda_runtime.h>

#include <algorithm>

#include "executor/cuda/device/cuda_error.hpp"

namespace pipeloom::executor::cuda {
namespace {

__global__ void add_words(const std::uint16_t* words, std::size_t count, unsigned long long* sum) {
  unsigned long long own = 0;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    own += words[i] * (2ULL * i + 1);
  for (int lane = warpSize / 2; lane > 0; lane /= 2) own += __shfl_down_sync(~0U, own, lane);
  if (threadIdx.x % warpSize == 0) atomicAdd(sum, own);
}

}  // namespace

void queue_checksum(const void* data, std::size_t bytes, std::uint64_t* scratch, std::uint64_t* sum,
                    cudaStream_t stream) {
  check(cudaMemsetAsync(scratch, 0, sizeof *scratch, stream), "cudaMemsetAsync");
  const std::size_t words = bytes / sizeof(std::uint16_t);
  if (words > 0) {
    constexpr unsigned kThreads = 256;
    const auto blocks = static_cast<unsigned>(std::min<std::size_t>((words + kThreads - 1) / kThreads, 128));
    add_words<<<blocks, kThreads, 0, stream>>>(static_cast<const std::uint16_t*>(data), words,
                                               reinterpret_cast<unsigned long long*>(scratch));
    check(cudaGetLastError(), "the checksum's kernel");
  }
  check(cudaMemcpyAsync(sum, scratch, sizeof *sum, cudaMemcpyDefault, stream),
        "cudaMemcpyAsync of a checksum");
}

}  // namespace pipeloom::executor::cuda
