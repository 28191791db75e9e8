#pragma once

// Errors of CUDA, cuBLAS and NCCL as exceptions that say where and why.

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <source_location>

#include "sim/error.hpp"

namespace pipeloom::executor::cuda {

/// what(): "cudaMallocAsync of 4096 bytes: out of memory (device_memory.cpp:31)".
class CudaError : public SystemError {
 public:
  using SystemError::SystemError;
};

/// Throws CudaError unless it succeeded; `what` is the call in words.
void check(cudaError_t result, const char* what,
           std::source_location where = std::source_location::current());
void check(cublasStatus_t result, const char* what,
           std::source_location where = std::source_location::current());

/// Devices that can be used. Throws SystemError if there is none: "no CUDA device: CUDA driver version is insufficient for CUDA runtime version;
/// use --backend cpu".
[[nodiscard]] int require_devices();

}  // namespace pipeloom::executor::cuda
