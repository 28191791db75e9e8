#pragma once

// Busy work on a device: its kernel, and the kernel's work on tensors, as a function of one element.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "executor/cuda/kernels/numbers.hpp"

namespace pipeloom::executor::cuda {

/// Compares an element of the input with the value that its producer must have written, and writes one of the output.
struct BusyElements {
  const float* input = nullptr;  ///< none: the op takes nothing
  float expected = 0.0F;
  float* output = nullptr;  ///< none: the op gives nothing
  float mark = 0.0F;
  std::uint32_t* wrong = nullptr;  ///< becomes `number` if the input is another's
  std::uint32_t number = 0;

  PIPELOOM_HOST_DEVICE void operator()(std::size_t i) const {
    // All threads that write it write the same. Written so that a NaN is wrong.
    if (input != nullptr && !(input[i] == expected)) *wrong = number;
    if (output != nullptr) output[i] = mark;
  }
};

/// Queues one block that handles `count` elements, and ends when `nanoseconds` have passed since it began.
void launch_busy(const BusyElements& elements, std::size_t count, std::uint64_t nanoseconds,
                 cudaStream_t stream);

}  // namespace pipeloom::executor::cuda
