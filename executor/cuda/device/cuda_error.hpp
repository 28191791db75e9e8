#pragma once

// Errors of CUDA, cuBLAS and NCCL as exceptions that say where and why, and the GPUs of this machine.

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <string>

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

/// The GPUs that this machine shows, in words: "NVIDIA H200, 139.8 GiB, sm 90; CUDA 13.0, NCCL 2.28.9", with "2 x " where several are alike, or
/// "no CUDA device: .." with the reason.
[[nodiscard]] std::string device_names();

}  // namespace pipeloom::executor::cuda
