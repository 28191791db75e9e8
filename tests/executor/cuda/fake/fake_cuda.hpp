#pragma once

// A CUDA runtime without a device: the functions of cudart that the back end calls, on threads of the host. Streams are threads, events are
// moments on its clock, device memory is memory that is filled with garbage when it is taken and when it is freed. The test's executable
// defines the runtime's own symbols, so the back end is linked as it is.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

namespace pipeloom::fake_cuda {

/// Queues `task` on a stream, as a kernel would be.
void queue(cudaStream_t stream, std::function<void()> task);

/// Allocations of device and pinned memory that were not freed yet; waits for frees that are under way.
[[nodiscard]] std::size_t live_allocations();

/// Called with every copy between device buffers: (destination, bytes), after it; empty: nobody.
void on_copy(std::function<void(void*, std::size_t)> told);

/// How many devices cudaGetDeviceCount() finds; 0: it fails as without a driver.
void set_devices(int count);

}  // namespace pipeloom::fake_cuda
