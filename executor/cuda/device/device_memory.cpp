#include "executor/cuda/device/device_memory.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <limits>

#include "executor/cuda/device/cuda_error.hpp"

namespace pipeloom::executor::cuda {

void keep_freed_memory() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  cudaMemPool_t pool = nullptr;
  check(cudaDeviceGetDefaultMemPool(&pool, device), "cudaDeviceGetDefaultMemPool");
  std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all), "cudaMemPoolSetAttribute");
  int no = 0;
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &no),
        "cudaMemPoolSetAttribute");
}

DeviceBuffer::DeviceBuffer(std::size_t bytes, cudaStream_t stream) : bytes_(bytes), stream_(stream) {
  if (bytes == 0) return;
  check(cudaMallocAsync(&data_, bytes, stream), fmt::format("cudaMallocAsync of {} bytes", bytes).c_str());
}

DeviceBuffer::~DeviceBuffer() {
  // The caller that waits for the device reports its errors.
  if (data_ != nullptr) static_cast<void>(cudaFreeAsync(data_, stream_));
}

PinnedBuffer::PinnedBuffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  check(cudaMallocHost(&data_, bytes), fmt::format("cudaMallocHost of {} bytes", bytes).c_str());
}

PinnedBuffer::~PinnedBuffer() {
  if (data_ != nullptr) static_cast<void>(cudaFreeHost(data_));
}

}  // namespace pipeloom::executor::cuda
