#pragma once

// Errors of CUDA, cuBLAS and NCCL as exceptions that say where and why.

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <pipeloom/error.hpp>

namespace pipeloom::executor::cuda {

/// what(): "cudaMallocAsync of 4096 bytes: out of memory (device_memory.cpp:31)".
class CudaError : public SystemError {
 public:
  using SystemError::SystemError;
};

/// Throws CudaError unless it succeeded; `what` is the call in words. The place is the caller's: clang 14 has no std::source_location.
void check(cudaError_t result, const char* what, const char* file = __builtin_FILE(),
           int line = __builtin_LINE());
void check(cublasStatus_t result, const char* what, const char* file = __builtin_FILE(),
           int line = __builtin_LINE());

/// Devices that can be used. Throws SystemError if there is none: "no CUDA device: CUDA driver version is insufficient for CUDA runtime version;
/// use --backend cpu".
[[nodiscard]] int require_devices();

}  // namespace pipeloom::executor::cuda
