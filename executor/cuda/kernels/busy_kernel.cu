#include "executor/cuda/kernels/busy_kernel.hpp"

#include "executor/cuda/device/cuda_error.hpp"

namespace pipeloom::executor::cuda {
namespace {

__device__ std::uint64_t device_nanoseconds() {
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void stay_busy(BusyElements elements, std::size_t count, std::uint64_t nanoseconds) {
  const std::uint64_t begin = device_nanoseconds();
  for (std::size_t i = threadIdx.x; i < count; i += blockDim.x) elements(i);
  if (threadIdx.x != 0) return;
  while (device_nanoseconds() - begin < nanoseconds) __nanosleep(100);
}

}  // namespace

void launch_busy(const BusyElements& elements, std::size_t count, std::uint64_t nanoseconds,
                 cudaStream_t stream) {
  stay_busy<<<1, 256, 0, stream>>>(elements, count, nanoseconds);
  check(cudaGetLastError(), "the kernel of busy work");
}

}  // namespace pipeloom::executor::cuda
