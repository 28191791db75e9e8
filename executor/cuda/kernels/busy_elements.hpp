#pragma once

// What busy work does with tensors, as a function of one element that its kernel (device_busy.cu) and tests call.

#include <cstddef>
#include <cstdint>

#include "executor/cuda/kernels/numbers.hpp"

namespace pipeloom::executor::cuda {

/// Compares an element of the input with what its producer must have written, and writes one of the output.
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

}  // namespace pipeloom::executor::cuda
